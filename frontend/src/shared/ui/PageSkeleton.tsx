/** A page whose first read is under way: its shape without its words. */
import { Skeleton, Stack } from "@mantine/core";
import { useShared } from "@/shared/texts/shared";

export function PageSkeleton() {
  const t = useShared();
  return (
    <Stack gap="md" role="status" aria-label={t("loading")}>
      <Skeleton height={26} width="min(320px, 60%)" />
      <Skeleton height={72} />
      <Skeleton height={280} />
    </Stack>
  );
}
