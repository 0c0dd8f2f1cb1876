import { MAX_CONNECTIONS } from '../market/http-client.ts'
import type { StepLatency } from '../measurements/latency-meter.ts'
import { describeOmission } from '../measurements/coordinated-omission.ts'
import type { LoadOutcome } from '../run-load.ts'

/** Notes on the latencies, one sentence each: missing values, and included waits that the market did not cause. */
export function listReportNotes({ counts, latencies }: Pick<LoadOutcome, 'counts' | 'latencies'>): readonly string[] {
  // Unsent requests have their own note below, because the latencies include their wait.
  const omission = describeOmission({ ...counts, unsent: 0 })
  const listSteps = (column: 'timedOut' | 'unsent' | 'missing'): string =>
    latencies
      .filter((latency) => latency[column] > 0)
      .map((latency) => `${latency.step} ${latency[column]}`)
      .join(', ')
  const [timedOut, unsent, missing] = [listSteps('timedOut'), listSteps('unsent'), listSteps('missing')]
  const wait = describeSocketWait(latencies)
  return [
    ...(omission === null ? [] : [`${omission}. They would have waited, so the real latencies are higher.`]),
    ...(timedOut === ''
      ? []
      : [`No answer came in time, so that these figures include the wait as a lower bound of the latency: ${timedOut}.`]),
    ...(unsent === ''
      ? []
      : [
          `The request was never sent, because none of this program's ${MAX_CONNECTIONS} connections was free in time; the figures include that wait: ${unsent}.`,
        ]),
    ...(missing === ''
      ? []
      : [`Missing from the figures, because it failed, was not sent or was in flight when the run ended: ${missing}.`]),
    ...(wait === null ? [] : [wait]),
  ]
}

/** The wait for a connection is reported if it reaches this share of another step's latency. */
const NOTABLE_SHARE = 0.1

/** @returns null if requests hardly waited for a connection of this program */
function describeSocketWait(latencies: readonly StepLatency[]): string | null {
  const socketLatency = latencies.find(({ step }) => step === 'socket wait')
  const waitP99Ms = socketLatency?.p99Ms ?? 0
  const waitMaxMs = socketLatency?.maxMs ?? 0
  const isNotable = latencies
    .filter(({ step }) => step !== 'socket wait' && step !== 'start lag')
    .some(
      ({ p99Ms, maxMs }) => waitP99Ms >= (p99Ms ?? Infinity) * NOTABLE_SHARE || waitMaxMs >= (maxMs ?? Infinity) * NOTABLE_SHARE,
    )
  if (!isNotable) return null
  const [p99, maxText] = [waitP99Ms, waitMaxMs].map((ms) => `${Number(ms.toPrecision(3))} ms`)
  return `Requests waited for one of this program's ${MAX_CONNECTIONS} connections, ${maxText} at most (p99 ${p99}): the figures include this wait, which the market did not cause.`
}
