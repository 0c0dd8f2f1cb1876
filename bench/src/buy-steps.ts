import { durations, poster } from './callers.ts'
import type { Row } from './harness.ts'

/** Commands whose handling ends a step, as the market logs it with the order's id and the time. */
const STEPS = [
  { ends: 'RequestQuote', what: 'request read, quote decided and stored' },
  { ends: 'PlaceOrder', what: 'quote published, order decided and stored' },
  { ends: 'IssueHold', what: 'order published, hold decided and stored' },
  { ends: 'RecordIssued', what: "buyer's node reached, invoice made and stored" },
  { ends: 'RecordHoldIssued', what: 'hold published, order told and stored' },
] as const
const LAST = 'order published, view written, caller answered'

type Load = { readonly callers: number; readonly calls: number; readonly rounds: number }
type Call = { readonly order: string; readonly began: number; readonly ended: number }

/** Where the time of `buy` goes: between the moments at which the commands of one order were handled. Milliseconds, means of each round. */
export async function buySteps(
  { callers, calls, rounds }: Load,
  body: string,
  url: string,
  output: () => string,
): Promise<readonly Row[]> {
  const { call, close } = poster(url, callers)
  const of = (round: Call[]) => async (): Promise<void> => {
    const began = Date.now()
    const answer = await call(body)
    const [, order] = /"transaction_id":"([^"]+)"/.exec(answer) ?? []
    if (order === undefined) throw new Error(`a purchase failed: ${answer}`)
    round.push({ order, began, ended: Date.now() })
  }
  await durations(callers, calls, of([]))
  const made: (readonly Call[])[] = []
  for (let n = 0; n < rounds; n++) {
    const round: Call[] = []
    await durations(callers, calls, of(round))
    made.push(round)
  }
  close()
  const handled = handledAt(output())
  const split = made.map((round) => meansOf(round.map((one) => spent(one, handled.get(one.order) ?? new Map<string, number>()))))
  return rowsOf(callers, split)
}

/** By order and command, the milliseconds since 1970 at which it was handled. */
function handledAt(log: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>()
  for (const line of log.split('\n')) {
    if (!line.startsWith('{') || !line.includes('"command":"')) continue
    const { order, command, time } = JSON.parse(line) as { order?: string; command: string; time: string } // the market's own log
    if (order === undefined) continue
    const commands = found.get(order) ?? new Map<string, number>()
    found.set(order, commands.set(command, Date.parse(time)))
  }
  return found
}

/** @returns the time of every step, and of the whole call at the end */
function spent({ began, ended }: Call, handled: ReadonlyMap<string, number>): readonly number[] {
  const moments = [began, ...STEPS.map(({ ends }) => handled.get(ends) ?? Number.NaN), ended]
  return [...moments.slice(1).map((moment, index) => moment - (moments[index] ?? Number.NaN)), ended - began]
}

/** Not medians, since the log's times are whole milliseconds. */
const meansOf = (calls: readonly (readonly number[])[]): readonly number[] =>
  Array.from({ length: STEPS.length + 2 }, (_, step) => {
    const times = calls.map((call) => call[step] ?? Number.NaN).filter((time) => !Number.isNaN(time))
    return times.reduce((sum, time) => sum + time, 0) / times.length
  })

function rowsOf(callers: number, rounds: readonly (readonly number[])[]): readonly Row[] {
  const whole = rounds.map((round) => round.at(-1) ?? Number.NaN)
  return [...STEPS.map(({ what }) => what), LAST].map((what, step) => {
    const figures = rounds.map((round) => round[step] ?? Number.NaN)
    return {
      what: `of buy at ${callers}: ${what}`,
      unit: 'ms',
      figures,
      ratios: figures.map((figure, round) => figure / (whole[round] ?? Number.NaN)),
      reference: { name: 'the whole call', figures: whole },
    }
  })
}
