import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import type { Response } from 'express'
import type { Gateway } from '../ports.ts'
import { findStoredOrder, type StoredOrder } from '../market/read/orders.ts'
import { computePageVersion } from './order-page.ts'
import { isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'

/** Maximum number of open streams; further pages poll. */
const MAX_STREAMS = 1000
/** Maximum per IP address, so that one visitor cannot occupy all streams. */
const MAX_STREAMS_PER_ADDRESS = 20
/** Pages take a stream for broken after 45 seconds without an event. */
const PING_MS = 20 * SECOND_MS
/** Time between two checks for commits of other replicas, a closed page and a stopping service. Own commits wake a stream. */
const POLL_MS = SECOND_MS

/** `ip`: the visitor's address. */
export type PageStreams = { readonly follow: (found: StoredOrder, ip: string, response: Response) => Promise<void> }

/** Opens streams of server-sent events. An event says only that a page is out of date, and the page then reloads. */
export function openPageStreams({ views, waiters, clock, closing }: Gateway): PageStreams {
  let open = 0
  const byAddress = new Map<string, number>()

  const countStream = (ip: string, change: 1 | -1): void => {
    open += change
    const remaining = (byAddress.get(ip) ?? 0) + change
    if (remaining > 0) byAddress.set(ip, remaining)
    else byAddress.delete(ip)
  }

  const streamChanges = async (found: StoredOrder, response: Response, disconnected: AbortSignal): Promise<void> => {
    const { id } = found.order
    const isEnded = () => disconnected.aborted || closing.aborted
    let current = found
    response.write(`retry: 2000\n\n${CHANGED_EVENT}`)
    while (!isEnded() && isOpenStatus(current.order.status)) {
      const findChange = async () => {
        // The database may be closed once the service stops.
        if (isEnded()) return current
        const now = await runWithLowPriority(() => findStoredOrder(views, id))
        return isEnded() || (now && computePageVersion(now) !== computePageVersion(current)) ? (now ?? current) : undefined
      }
      const change = await waiters.wait(findChange, [id], clock.monotonicMs() + PING_MS, { everyMs: POLL_MS })
      response.write(change ? CHANGED_EVENT : PING_EVENT)
      current = change ?? current
    }
    if (!isEnded()) response.write('event: final\ndata: \n\n')
  }

  return {
    async follow(found, ip, response) {
      if (open >= MAX_STREAMS) return void response.status(503).set('retry-after', '5').end()
      if ((byAddress.get(ip) ?? 0) >= MAX_STREAMS_PER_ADDRESS) return void response.status(429).set('retry-after', '5').end()
      response.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      // HEAD asks for the headers alone. A stream would never end, and would keep the connection from its next request.
      if (response.req.method === 'HEAD') return void response.end()
      countStream(ip, 1)
      const disconnected = new AbortController()
      response.once('close', () => disconnected.abort())
      try {
        response.flushHeaders()
        await streamChanges(found, response, disconnected.signal)
      } finally {
        countStream(ip, -1)
        response.end()
      }
    },
  }
}

/** Also the first event of a stream, because the order may have changed while the page was loading. */
const CHANGED_EVENT = 'event: changed\ndata: \n\n'

/** An event, because scripts do not see comments. */
const PING_EVENT = 'event: ping\ndata: \n\n'
