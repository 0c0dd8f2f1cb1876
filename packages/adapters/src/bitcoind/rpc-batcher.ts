import { Fault } from '@penstock/kernel/result.ts'
import type { RpcResponse, RpcCall } from './rpc-call.ts'

/** Maximum number of concurrent requests; later calls share the next request. At btcd each request costs a handshake. */
const MAX_REQUESTS = 2
/** Maximum number of calls in a batch, because every call waits for the whole batch. */
const MAX_BATCH_CALLS = 25
/** Maximum time of a call in the queue, in ms. No caller waits longer for a chain lookup, so an older call is never sent. */
const QUEUE_TIMEOUT_MS = 20_000

type QueuedCall = RpcCall & {
  readonly queuedAt: number
  readonly resolve: (answer: RpcResponse) => void
  readonly reject: (error: unknown) => void
}

/** @param send posts a JSON body and returns the parsed answer. Its failure rejects all calls of the batch */
export function createRpcBatcher(
  send: (body: string) => Promise<unknown>,
  monotonicMs: () => number = () => performance.now(),
): (call: RpcCall) => Promise<RpcResponse> {
  const queue: QueuedCall[] = []
  let requests = 0
  let isScheduled = false

  /** Sends the call together with the other calls of this event-loop turn. */
  function scheduleSend(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      sendNext()
    })
  }

  function sendNext(): void {
    while (queue[0] && monotonicMs() - queue[0].queuedAt >= QUEUE_TIMEOUT_MS)
      queue.shift()?.reject(new Fault(`a call to the bitcoin node was queued for more than ${QUEUE_TIMEOUT_MS} ms`))
    if (requests >= MAX_REQUESTS || queue.length === 0) return
    requests += 1
    const calls = queue.splice(0, MAX_BATCH_CALLS)
    void sendBatch(calls).finally(() => {
      requests -= 1
      sendNext()
    })
  }

  async function sendBatch(calls: readonly QueuedCall[]): Promise<void> {
    try {
      const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: '1.0', id, method, params }))
      const [first, ...rest] = bodies
      const answers = indexById(await send(JSON.stringify(rest.length === 0 ? first : bodies)))
      calls.forEach(({ method, resolve, reject }, id) => {
        const answer = answers.get(id)
        if (answer) resolve(answer)
        else reject(new Fault(`the bitcoin node did not answer ${method}`))
      })
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  return (call) =>
    new Promise((resolve, reject) => {
      queue.push({ ...call, queuedAt: monotonicMs(), resolve, reject })
      scheduleSend()
    })
}

function indexById(body: unknown): ReadonlyMap<unknown, RpcResponse> {
  const list = (Array.isArray(body) ? body : [body]) as readonly (RpcResponse & { readonly id: unknown })[] // JSON-RPC's own form
  return new Map(list.map((answer) => [answer.id, answer]))
}
