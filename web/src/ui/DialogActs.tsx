import { Button } from "@mantine/core";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import form from "./form.module.css";

interface Props {
  /** The button's verb. */
  verb: string;
  /** Without it, the button sends the form that it is in. */
  act?: () => void;
  isBusy?: boolean;
  isDisabled?: boolean;
  isDangerous?: boolean;
  /** Cancel has the focus first, unless a field before it asks for it. */
  isCancelFirst?: boolean;
  onClose: () => void;
}

/** The way out of a dialog, and the way on. */
export function DialogActs({ verb, act, isBusy = false, onClose, ...state }: Props) {
  const { cancel } = useTexts(common);
  return (
    <div className={form.acts}>
      <Button
        variant="default"
        data-autofocus={state.isCancelFirst}
        disabled={isBusy}
        onClick={onClose}
      >
        {cancel}
      </Button>
      <Button
        type={act ? "button" : "submit"}
        {...(state.isDangerous ? { color: "bad" } : {})}
        loading={isBusy}
        disabled={state.isDisabled ?? false}
        onClick={act}
      >
        {verb}
      </Button>
    </div>
  );
}

/** The way out, where nothing is left to do. */
export function DialogEnd({ verb, onClose }: { verb: "close" | "done"; onClose: () => void }) {
  const words = useTexts(common);
  return (
    <div className={form.acts}>
      <Button data-autofocus onClick={onClose}>
        {words[verb]}
      </Button>
    </div>
  );
}
