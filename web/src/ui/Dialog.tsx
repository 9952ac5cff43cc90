import { Modal, type ModalProps } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";

interface Props
  extends Pick<ModalProps, "classNames" | "closeOnClickOutside" | "closeOnEscape" | "zIndex"> {
  title: string;
  size?: "md" | "lg" | number;
  /** All of the screen on a phone: for forms that are longer than it. */
  isLong?: boolean;
  /** Something runs whose outcome would be lost: it cannot be closed. */
  isBusy?: boolean;
  onClose: () => void;
  children: ReactNode;
}

const stay = () => undefined;

/** Stands above the page until it is closed: by its button, by Escape, or by a click beside it. */
export function Dialog({ size = "md", isLong = false, isBusy = false, ...props }: Props) {
  const { close } = useTexts(common);
  const isFull = useMediaQuery("(max-width: 640px)") && isLong;
  return (
    <Modal
      opened
      size={size}
      fullScreen={isFull}
      data-full={isFull || undefined}
      closeButtonProps={{ "aria-label": close, disabled: isBusy }}
      attributes={{ header: { role: "presentation" } }} // the page has a header already
      {...props}
      onClose={isBusy ? stay : props.onClose}
    />
  );
}
