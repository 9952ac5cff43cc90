import { ActionIcon } from "@mantine/core";
import type { Ref } from "react";
import { Icon, type IconName } from "./Icon";
import styles from "./IconButton.module.css";

interface Props {
  icon: IconName;
  /** What it does, for those who do not see it and for who hovers. */
  label: string;
  onClick: () => void;
  size?: number;
  isExpanded?: boolean;
  isDisabled?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

/** A sign that can be pressed. */
export function IconButton({ icon, label, onClick, size = 36, ref, ...state }: Props) {
  return (
    <ActionIcon
      ref={ref}
      variant="subtle"
      color="gray"
      size={size}
      className={styles.button ?? ""}
      aria-label={label}
      title={label}
      aria-expanded={state.isExpanded}
      disabled={state.isDisabled ?? false}
      onClick={onClick}
    >
      <Icon name={icon} size={size > 36 ? 20 : 18} />
    </ActionIcon>
  );
}
