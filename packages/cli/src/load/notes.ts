import { CONNECTIONS } from './client.ts'
import type { Latency } from './meter.ts'
import { omitted } from './omitted.ts'
import type { Outcome } from './run.ts'

/** What the figures do not say themselves, a sentence each: what is not in them, and what is in them and not the market's. */
export function notesOf({ counts, latencies }: Pick<Outcome, 'counts' | 'latencies'>): readonly string[] {
  // What never left stands below, with the figures that have its wait.
  const lacking = omitted({ ...counts, unsent: 0 })
  const each = (what: 'timedOut' | 'unsent' | 'missing'): string =>
    latencies
      .filter((latency) => latency[what] > 0)
      .map((latency) => `${latency.step} ${latency[what]}`)
      .join(', ')
  const [timedOut, unsent, missing] = [each('timedOut'), each('unsent'), each('missing')]
  const wait = socketWait(latencies)
  return [
    ...(lacking === null ? [] : [`${lacking}. They would have waited, so the market is slower than these figures say.`]),
    ...(timedOut === ''
      ? []
      : [
          `No answer came in time, and the figures have the wait for it, which is the least that it would have taken: ${timedOut}.`,
        ]),
    ...(unsent === ''
      ? []
      : [
          `The market never saw the request, since none of this program's ${CONNECTIONS} connections was free in time, and the figures have that wait: ${unsent}.`,
        ]),
    ...(missing === ''
      ? []
      : [`Expected, and in no figure, since it failed, was not sent or was under way when the run ended: ${missing}.`]),
    ...(wait === null ? [] : [wait]),
  ]
}

/** From this part of another figure on, a wait of this program's own is worth a word. */
const NOTABLE = 0.1

/** @returns null where requests hardly waited for a connection of this program */
function socketWait(latencies: readonly Latency[]): string | null {
  const own = latencies.find(({ step }) => step === 'socket wait')
  const ownP99Ms = own?.p99Ms ?? 0
  const ownMaxMs = own?.maxMs ?? 0
  const isNotable = latencies
    .filter(({ step }) => step !== 'socket wait' && step !== 'start lag')
    .some(({ p99Ms, maxMs }) => ownP99Ms >= (p99Ms ?? Infinity) * NOTABLE || ownMaxMs >= (maxMs ?? Infinity) * NOTABLE)
  if (!isNotable) return null
  const [p99, most] = [ownP99Ms, ownMaxMs].map((ms) => `${Number(ms.toPrecision(3))} ms`)
  return `Requests waited for one of this program's ${CONNECTIONS} connections, ${most} at most (p99 ${p99}): so much of the figures was spent here, before the market saw the request.`
}
