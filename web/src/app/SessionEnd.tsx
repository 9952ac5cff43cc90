import { Box } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Credentials } from "../account/Credentials";
import { onSessionEnd } from "../api/client";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { Dialog } from "../ui/Dialog";
import { leave, useNoTurning } from "../ui/stay";

const remain = () => undefined;

/** Asks to sign in again, above the page: what was typed below stays there. */
export function SessionEnd({ email }: { email: string }) {
  const words = useTexts(app);
  const queries = useQueryClient();
  const [hasEnded, setEnded] = useState(false);
  useEffect(() => onSessionEnd(() => setEnded(true)), []);
  useNoTurning(hasEnded, remain); // a dialog below this one would be hidden
  if (!hasEnded) return null;
  return (
    <Dialog
      onClose={() => location.assign("/")}
      closeOnClickOutside={false}
      closeOnEscape={false}
      zIndex={300} // above a dialog that was open
      title={words.ended}
    >
      <Box component="p" my={16}>
        {words.endedText}
      </Box>
      <Credentials
        email={email}
        onDone={(entered) => {
          // Another person finds nothing of this one.
          if (entered.trim().toLowerCase() !== email.toLowerCase()) return leave("/app");
          setEnded(false);
          void queries.invalidateQueries();
        }}
      />
    </Dialog>
  );
}
