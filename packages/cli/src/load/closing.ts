import { duration } from '../text.ts'
import { asTrouble, sleepUntil } from './life.ts'
import { silenceOf } from './trouble.ts'

/** How long the end of a run may take, whatever the market does. */
export type Times = {
  /** A market that hangs answers nobody, not even the shortest question: it is asked this often, and given so long. */
  readonly beatMs: number
  readonly answerMs: number
  /** What is left for the end of a run that Ctrl-C has cut short. */
  readonly hurriedMs: number
}

const TIMES: Times = { beatMs: 1000, answerMs: 15_000, hurriedMs: 20_000 }
/** One answer may be lost on its way. */
const SILENCES = 2

/** The end of a run, in which all is put back and looked at. It comes to an end itself. */
export type Closing = {
  /** What is asked beside the load is broken off with it. */
  readonly signal: AbortSignal
  /** Why nothing is asked any more; null as long as something may be. */
  why(): string | null
  /** Asks one of the questions of the end: two in a row without an answer in time are the last ones. */
  ask<T>(question: () => Promise<T>): Promise<T>
  /** Orders come: Ctrl-C ends them, and not what is asked beside them. Before, it ends everything. */
  load(): void
  /** The orders are over. @param isAlive the shortest question that there is, in the time that it is given */
  begin(withinMs: number, isAlive: (timeoutMs: number) => Promise<unknown>): void
  /** Nothing more is to be asked. */
  end(): void
}

export function openClosing(interrupt: AbortSignal, times = TIMES): Closing {
  const over = new AbortController()
  const giveUp = (why: string): void => over.abort(why)
  const interrupted = (): void => giveUp('Ctrl-C ended it')
  const heed = (): void => interrupt.addEventListener('abort', interrupted, { signal: over.signal })
  const countSilences = () => {
    let silences = 0
    return async <T>(question: () => Promise<T>): Promise<T> => {
      try {
        const answer = await question()
        silences = 0
        return answer
      } catch (error) {
        // Also where requests without an answer hold every connection: nobody is answered then.
        silences = silenceOf(asTrouble(error)) === undefined ? 0 : silences + 1
        if (silences >= SILENCES) giveUp(`the market did not answer ${SILENCES} times in a row`)
        throw error
      }
    }
  }
  const beat = async (isAlive: () => Promise<unknown>): Promise<void> => {
    const feel = countSilences()
    while (await sleepUntil(performance.now() + times.beatMs, over.signal)) await feel(isAlive).catch(asTrouble)
  }
  heed()
  return {
    signal: over.signal,
    why: () => (over.signal.aborted ? String(over.signal.reason) : null),
    ask: countSilences(),
    load: () => interrupt.removeEventListener('abort', interrupted),
    begin(withinMs, isAlive) {
      if (over.signal.aborted) return
      const ms = interrupt.aborted ? times.hurriedMs : withinMs
      const limit = setTimeout(giveUp, ms, `it took longer than ${duration(ms)}`)
      over.signal.addEventListener('abort', () => clearTimeout(limit))
      heed()
      void beat(() => isAlive(times.answerMs))
    },
    end: () => giveUp('the run is over'),
  }
}
