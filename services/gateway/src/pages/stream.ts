import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { Response } from 'express'
import type { Gateway } from '../ports.ts'
import { orderById, type StoredOrder } from '../read/orders.ts'
import { versionOf } from './order-page.ts'
import { isFinal } from './timeline.ts'

/** Beyond so many open pages others poll. */
const MOST_STREAMS = 1000
/** One visitor must not take the places of all. */
const MOST_OF_ADDRESS = 20
const PING_MS = 20 * SECOND_MS
/** Our own commits wake us at once. Those of other replicas are looked for so often, and whether the page or the service went away. */
const LOOK_MS = SECOND_MS

/** `ip`: the visitor's address. */
export type Streams = { readonly follow: (found: StoredOrder, ip: string, response: Response) => Promise<void> }

/** Server-sent events: they say only that a page is old, and it loads itself again. */
export function openStreams({ views, waits, clock, closing }: Gateway): Streams {
  let open = 0
  const byAddress = new Map<string, number>()

  const count = (ip: string, change: 1 | -1): void => {
    open += change
    const left = (byAddress.get(ip) ?? 0) + change
    if (left > 0) byAddress.set(ip, left)
    else byAddress.delete(ip)
  }

  const run = async (found: StoredOrder, response: Response, gone: AbortSignal): Promise<void> => {
    const { id } = found.order
    const ended = () => gone.aborted || closing.aborted
    let known = found
    response.write(`retry: 2000\n\n${changed}`)
    while (!ended() && !isFinal(known.order.status)) {
      const look = async () => {
        const now = await orderById(views, id)
        return ended() || (now && versionOf(now) !== versionOf(known)) ? (now ?? known) : undefined
      }
      const news = await waits.wait(look, [id], clock.monotonicMs() + PING_MS, LOOK_MS)
      response.write(news ? changed : ': still here\n\n')
      known = news ?? known
    }
    if (!ended()) response.write('event: final\ndata: \n\n')
  }

  return {
    async follow(found, ip, response) {
      if (open >= MOST_STREAMS) return void response.status(503).set('retry-after', '5').end()
      if ((byAddress.get(ip) ?? 0) >= MOST_OF_ADDRESS) return void response.status(429).set('retry-after', '5').end()
      count(ip, 1)
      const gone = new AbortController()
      response.once('close', () => gone.abort())
      try {
        response
          .set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
          .flushHeaders()
        await run(found, response, gone.signal)
      } finally {
        count(ip, -1)
        response.end()
      }
    },
  }
}

/** Also the first thing said: whatever happened while the page was loading is seen. */
const changed = 'event: changed\ndata: \n\n'
