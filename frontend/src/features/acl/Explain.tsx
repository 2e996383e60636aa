/** May this user do that from there? The answer of every broker, with the rule that decides. */
import { Autocomplete, Button, Group, Loader, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconHelpCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { EmptyState } from "@/shared/ui/EmptyState";
import { Panel } from "@/shared/ui/Panel";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import type { SearchOf } from "@/shared/url/search";
import { Explanation } from "./Explanation";
import { type Action, ACTIONS, type aclSearch } from "./search";
import { useTexts } from "./texts";

const PATH = "/clusters/{cluster}/acl/explain/";
type Search = SearchOf<typeof aclSearch>;
type Question = Pick<Search, "user" | "action" | "topic" | "group" | "address">;

interface Props {
  cluster: string;
  names: string[] | undefined;
  search: Search;
  setSearch: (changes: Partial<Search>, options?: { replace?: boolean }) => void;
}

export function Explain({ cluster, names, search, setSearch }: Props) {
  const t = useTexts();
  const { user, action, topic, group, address } = search;
  const isAsked = user !== "" && address !== "";
  const answer = useQuery({
    queryKey: [PATH, { cluster }, { user, action, topic, group, address }],
    queryFn: ({ signal }) =>
      post(PATH, { params: { cluster }, body: { user, action, topic, group, address }, signal }),
    enabled: isAsked,
    retry: false,
  });
  return (
    <Stack gap="md">
      <Panel>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {t("explain.lead")}
          </Text>
          <QuestionForm
            key={[user, action, topic, group, address].join("\n")}
            asked={{ user, action, topic, group, address }}
            names={names ?? []}
            onAsk={(question) => {
              setSearch(question, { replace: false });
              if (isSame(question, search)) void answer.refetch();
            }}
          />
        </Stack>
      </Panel>
      {!isAsked && (
        <EmptyState icon={<IconHelpCircle size={28} />} title={t("explain.empty")}>
          {t("explain.emptyDetail")}
        </EmptyState>
      )}
      {answer.isError && <ProblemAlert error={answer.error} />}
      {answer.isLoading && <Loader size="sm" />}
      {answer.data && <Explanation user={user} explanation={answer.data} />}
    </Stack>
  );
}

function isSame(question: Question, search: Search): boolean {
  return (Object.keys(question) as (keyof Question)[]).every((name) => question[name] === search[name]);
}

interface FormProps {
  asked: Question;
  names: string[];
  onAsk: (question: Question) => void;
}

function QuestionForm({ asked, names, onAsk }: FormProps) {
  const t = useTexts();
  const [question, setQuestion] = useState(asked);
  const change = (changes: Partial<Question>) => setQuestion({ ...question, ...changes });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAsk({
          user: question.user.trim(),
          action: question.action,
          topic: question.topic.trim(),
          group: question.group.trim(),
          address: question.address.trim(),
        });
      }}
    >
      <Group gap="sm" align="flex-end">
        <Autocomplete
          label={t("explain.user")}
          data={names}
          value={question.user}
          onChange={(user) => change({ user })}
          required
          size="xs"
          w={170}
        />
        <Select
          label={t("explain.action")}
          value={question.action}
          onChange={(action) => change({ action: action as Action })}
          data={ACTIONS.map((value) => ({ value, label: t(`explain.actions.${value}`) }))}
          w={120}
        />
        <TextInput
          label={t("explain.topic")}
          value={question.topic}
          onChange={(event) => change({ topic: event.currentTarget.value })}
          w={190}
        />
        <TextInput
          label={t("explain.group")}
          value={question.group}
          onChange={(event) => change({ group: event.currentTarget.value })}
          w={170}
        />
        <TextInput
          label={t("explain.address")}
          placeholder="10.1.2.3"
          value={question.address}
          onChange={(event) => change({ address: event.currentTarget.value })}
          required
          w={150}
        />
        <Button type="submit">{t("explain.ask")}</Button>
      </Group>
      <Text size="xs" c="dimmed" mt={6}>
        {question.action === "sub" ? t("explain.groupHint") : t("explain.what")}
      </Text>
    </form>
  );
}
