"""Which user agents are programs: the list of `crawlerdetect`, on a faster engine."""

import re


class Crawlers:
    """Like `CrawlerDetect.is_crawler`, which takes 600 µs for a browser: 1,400 rules, one after the
    other at every letter. Here the rules are filtered first, and a browser takes 3 µs."""

    def __init__(self) -> None:
        import ua_parser_rs
        from crawlerdetect.providers import crawlers, exclusions

        # The engine has no look-ahead; the few rules with one use Python's engine.
        slow = [rule for rule in crawlers.data if "(?" in rule]
        rules = [(f"(?i)({rule})", None, None, None, None, None) for rule in crawlers.data]
        self._rules = ua_parser_rs.UserAgentExtractor([r for r in rules if "(?" not in r[0][4:]])
        self._slow = re.compile("|".join(slow or ["(?!)"]), re.IGNORECASE)
        self._harmless = re.compile("|".join(exclusions.data), re.IGNORECASE)

    def find(self, text: str) -> str | None:
        """The part that shows that it is a program; None for a browser."""
        # Almost everything that does not match here does not match without its harmless parts
        # either; removing those costs ten times as much.
        if self._search(text) is None:
            return None
        return self._search(self._harmless.sub("", text).strip())

    def _search(self, text: str) -> str | None:
        found = self._rules.extract(text)
        if found is not None:
            return found.family
        match = self._slow.search(text)
        return None if match is None else match[0]
