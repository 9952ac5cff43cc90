import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useFormats } from "../../ui/format";
import { Pager, type Pages } from "../../ui/Pager";
import { type LinkPage, PAGE } from "../queries";

/** Turns the pages of a list of links, and says which of them are in sight. */
export function LinkPager(props: { pages: Pages; page: LinkPage; isBusy: boolean }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { pages, page } = props;
  const from = pages.number * PAGE + 1;
  const total = number(page.total);
  const text = words.range(
    number(from),
    number(from + page.links.length - 1),
    page.is_total_exact ? total : words.moreThan(total),
  );
  return <Pager pages={pages} next={page.next_cursor} isBusy={props.isBusy} text={text} />;
}
