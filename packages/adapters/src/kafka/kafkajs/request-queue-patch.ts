import { createRequire } from 'node:module'

/*
 * Patches the timers of kafkajs 2.2.4's connections, which wake an idle process. A program has to load this module before it
 * creates its first client.
 */

type PendingRequest = { readonly sentAt: number; readonly requestTimeout: number; timeoutRequest(): void }
type RequestQueue = {
  readonly enforceRequestTimeout: boolean
  /** Sent requests without a response, by their ids. */
  readonly inflight: ReadonlyMap<number, PendingRequest>
  readonly isConnected: () => boolean
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  readonly pending: readonly unknown[]
  checkPendingRequests(): void
}

const load = createRequire(import.meta.url)
const { prototype: queues } = load('kafkajs/src/network/requestQueue/index.js') as { readonly prototype: RequestQueue } // its class, untyped

const QUEUE_CHECK_MS = 10
/** A request ends at most this long after its timeout. */
const TIMEOUT_CHECK_MS = 1000

const checkedQueues = new Set<RequestQueue>()
let checkTimer: NodeJS.Timeout | undefined

/** Ends the requests that have timed out. */
function checkTimeouts(): void {
  for (const queue of checkedQueues) {
    for (const request of queue.inflight.values())
      if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest()
    if (!queue.isConnected()) checkedQueues.delete(queue)
  }
  if (checkedQueues.size > 0) return
  clearInterval(checkTimer)
  checkTimer = undefined
}

Object.assign(queues, {
  /** Without this patch, every connection wakes its process ten times a second. Here all connections share one timer. */
  scheduleRequestTimeoutCheck(this: RequestQueue): void {
    if (!this.enforceRequestTimeout) return
    checkedQueues.add(this)
    checkTimer ??= setInterval(checkTimeouts, TIMEOUT_CHECK_MS).unref()
  },
  /**
   * Without this patch, every idle connection sets a timer in the past. The timer fires every millisecond for ever, and Node warns
   * about the negative delay.
   */
  scheduleCheckPendingRequests(this: RequestQueue): void {
    if (this.throttleCheckTimeoutId) return
    const throttledMs = this.throttledUntil - Date.now()
    if (throttledMs <= 0 && this.pending.length === 0) return
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      throttledMs > 0 ? throttledMs : QUEUE_CHECK_MS,
    )
  },
})
