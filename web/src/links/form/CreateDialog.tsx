import { useState } from "react";
import { Problem } from "../../api/client";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { FormProblem } from "../../ui/states";
import type { Link } from "../queries";
import { useMake } from "./CreateQuery";
import { CreateResult } from "./CreateResult";
import { EditDialog } from "./EditDialog";
import { type Fields, findWrong, NOTHING, touched, type Wrong, wrongBy } from "./editing";
import { LinkFormMore, LinkFormUrl } from "./LinkForm";
import { LinkFormFold } from "./LinkFormFold";
import { LinkFormFrame } from "./LinkFormFrame";

interface Props {
  workspaceId: number | null;
  onClose: () => void;
}

/** Makes links, one after the other: the form, the short link, the form again. */
export function CreateDialog({ workspaceId, onClose }: Props) {
  const make = useMake(workspaceId);
  const [edited, setEdited] = useState<Link>();
  if (edited) return <EditDialog link={edited} workspaceId={workspaceId} onClose={onClose} />;
  if (make.data) {
    const edit = () => setEdited(make.data.link);
    return <CreateResult made={make.data} another={make.reset} edit={edit} onClose={onClose} />;
  }
  return <CreateForm make={make} workspaceId={workspaceId} onClose={onClose} />;
}

function CreateForm({ make, workspaceId, onClose }: Props & { make: ReturnType<typeof useMake> }) {
  const words = useTexts(texts);
  const [fields, setFields] = useState<Fields>(NOTHING);
  const [wrong, setWrong] = useState<Wrong>({});
  const change = (part: Partial<Fields>) => {
    setFields((before) => ({ ...before, ...part }));
    setWrong({});
  };
  const submit = () => {
    if (make.isPending) return;
    const found = findWrong(fields);
    setWrong(found);
    if (Object.keys(found).length > 0) return;
    const onError = (error: Error) => error instanceof Problem && setWrong(wrongBy(error));
    make.mutate(fields, { onError });
  };
  const props = { workspaceId, link: null, fields, change, wrong };
  const isFolded = Object.keys(wrong).every((name) => name === "" || name === "original_url");
  const isElsewhere = make.isError && !(make.error instanceof Problem);
  return (
    <LinkFormFrame
      title={words.create}
      isDirty={touched(NOTHING, fields).length > 0}
      wrong={wrong}
      onSubmit={submit}
      onClose={onClose}
      verb={words.shorten}
      isPending={make.isPending}
    >
      <LinkFormUrl {...props} />
      <LinkFormFold name="more" title={words.more} isNeeded={!isFolded}>
        <LinkFormMore {...props} />
      </LinkFormFold>
      <FormProblem error={isElsewhere ? make.error : wrong[""]} />
    </LinkFormFrame>
  );
}
