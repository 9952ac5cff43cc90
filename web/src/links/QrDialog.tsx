import { Suspense } from "react";
import { Fence } from "../app/Fence";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { Dialog } from "../ui/Dialog";
import { lazily } from "../ui/lazily";
import { Loading } from "../ui/states";
import type { Link } from "./queries";

const Qr = lazily(() => import("../ui/Qr"));

export function QrDialog({ link, onClose }: { link: Link; onClose: () => void }) {
  const words = useTexts(texts);
  return (
    <Dialog onClose={onClose} title={words.qrOf(link.short_code)} size="lg">
      <Fence>
        <Suspense fallback={<Loading />}>
          <Qr url={link.short_url} name={link.short_code} />
        </Suspense>
      </Fence>
    </Dialog>
  );
}
