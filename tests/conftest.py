"""What test files share: one browser for all pages."""

import pytest
from chromium import Chromium
from headless import find_browser


@pytest.fixture(scope="session")
def browser(request, tmp_path_factory):
    found = Chromium(find_browser(request), tmp_path_factory.mktemp("browser"))
    yield found
    found.close()
