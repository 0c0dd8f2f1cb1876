import './request-queue-patch.ts'
import { createRequire } from 'node:module'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

type Entry = {
  readonly correlationId: number
  readonly apiKey: number
  reject(error: Error): void
  resolve(response: object): void
}
type RequestQueue = {
  push(request: { readonly entry: Entry; readonly expectResponse: boolean; sendRequest(): void }): void
  scheduleRequestTimeoutCheck(): void
}
type RequestQueues = new (options: object) => RequestQueue
const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as RequestQueues // untyped

const logger = { debug: () => {}, warn: () => {} }
let connected = true
/** The number of times at which a queue has checked its requests. */
let checks = 0
const isConnected = () => {
  checks++
  return connected
}
const createQueue = (): RequestQueue =>
  new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: 3000,
    enforceRequestTimeout: true,
    logger,
    isConnected,
  })
const send = (queue: RequestQueue): Error[] => {
  const errors: Error[] = []
  const entry = { correlationId: 1, apiKey: 3, reject: (error: Error) => void errors.push(error), resolve: () => {} }
  queue.push({ entry, expectResponse: true, sendRequest: () => {} })
  return errors
}

beforeEach(() => {
  connected = true
  checks = 0
  vi.useFakeTimers()
})
afterEach(() => {
  connected = false
  vi.advanceTimersByTime(1000)
  vi.useRealTimers()
})

it('a request without a response fails at most a second after its timeout', () => {
  const queue = createQueue()
  queue.scheduleRequestTimeoutCheck()
  const errors = send(queue)
  vi.advanceTimersByTime(3000)
  expect(errors).toEqual([])
  vi.advanceTimersByTime(1000)
  expect(errors.map(({ name }) => name)).toEqual(['KafkaJSRequestTimeoutError'])
})

it('idle connections share a timer that wakes their process once a second, and lasts as long as they', () => {
  for (let n = 0; n < 3; n++) createQueue().scheduleRequestTimeoutCheck()
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(10_000)
  expect(checks).toBe(30)
  connected = false
  vi.advanceTimersByTime(1000)
  expect(vi.getTimerCount()).toBe(0)
})
