/**
 * What time it is at the console: ages of figures must not lie because this machine's clock is off.
 * Answers carry their time to the second, so a difference below two seconds is taken for none.
 */
const TOLERATED_MS = 2_000;
let aheadMs = 0;

export function noteServerTime(header: string | null, now = Date.now()) {
  const at = header === null ? NaN : Date.parse(header);
  if (Number.isNaN(at)) return;
  const difference = at - now;
  aheadMs = Math.abs(difference) > TOLERATED_MS ? difference : 0;
}

export function serverNow(now = Date.now()): number {
  return now + aheadMs;
}
