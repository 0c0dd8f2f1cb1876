import { Fault } from '@penstock/kernel/result.ts'
import type { Answer, Call } from './call.ts'

/** A request opens a connection and shakes hands, at btcd every time: more calls than so many at a time share one. */
const MOST_REQUESTS = 2
/** Whoever is in a batch waits for all of it. */
const MOST_CALLS = 25
/** No look at the chain is waited for any longer; a node that hung is not given the questions of all who went away. */
const IN_LINE_MS = 20_000

type Waiting = Call & {
  readonly since: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** @param send sends a body of JSON and returns the one that answers it. What fails, fails for all calls of its batch */
export function batches(
  send: (body: string) => Promise<unknown>,
  monotonicMs: () => number = () => performance.now(),
): (call: Call) => Promise<Answer> {
  const line: Waiting[] = []
  let requests = 0
  let isToCome = false

  /** With whatever else is asked in this turn. */
  function sendSoon(): void {
    if (isToCome) return
    isToCome = true
    setImmediate(() => {
      isToCome = false
      sendNext()
    })
  }

  function sendNext(): void {
    while (line[0] && monotonicMs() - line[0].since >= IN_LINE_MS)
      line.shift()?.reject(new Fault(`the bitcoin node had no time for a call within ${IN_LINE_MS} ms`))
    if (requests >= MOST_REQUESTS || line.length === 0) return
    requests += 1
    const calls = line.splice(0, MOST_CALLS)
    void carryOut(calls).finally(() => {
      requests -= 1
      sendNext()
    })
  }

  async function carryOut(calls: readonly Waiting[]): Promise<void> {
    try {
      const wanted = calls.map(({ method, params }, id) => ({ jsonrpc: '1.0', id, method, params }))
      const [alone, ...more] = wanted
      const answers = answersById(await send(JSON.stringify(more.length === 0 ? alone : wanted)))
      calls.forEach(({ method, resolve, reject }, id) => {
        const answer = answers.get(id)
        if (answer) resolve(answer)
        else reject(new Fault(`the bitcoin node left ${method} without an answer`))
      })
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  return (call) =>
    new Promise((resolve, reject) => {
      line.push({ ...call, since: monotonicMs(), resolve, reject })
      sendSoon()
    })
}

function answersById(body: unknown): ReadonlyMap<unknown, Answer> {
  const list = (Array.isArray(body) ? body : [body]) as readonly (Answer & { readonly id: unknown })[] // JSON-RPC's own form
  return new Map(list.map((answer) => [answer.id, answer]))
}
