// The time of the service. Ages and durations are counted by it, because the times in the journal are the service's, and the clock of
// this machine may be an hour off.

let skewMs = 0

/** `Date` has whole seconds, and an answer takes a while to arrive: smaller differences are not the clock's. */
const PRECISION_MS = 2_000

/** Every answer of the service carries its time. */
export function noteServerTime({ headers }: Response): void {
  const sent = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(sent)) return
  const found = sent + 500 - Date.now()
  if (Math.abs(found - skewMs) > PRECISION_MS) skewMs = Math.abs(found) > PRECISION_MS ? found : 0
}

export const serverNow = (): number => Date.now() + skewMs
