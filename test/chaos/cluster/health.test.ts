import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { expect, onTestFinished, test } from 'vitest'
import { waitUntilHealthy, runWithin } from './health.ts'

async function startHealthServer(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end())
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // A TCP server has this type of address.
}
const alwaysTrue = async () => true
const alwaysFalse = async () => false

test('waitUntilHealthy resolves if all processes, servers and consumer groups are ready', async () => {
  const processes = [
    { name: 'order', pid: 7, healthUrl: await startHealthServer(200) },
    { name: 'kafka', pid: 8, answers: alwaysTrue },
  ]
  await waitUntilHealthy(() => processes, alwaysTrue, 0, stillClock)
})

test('waitUntilHealthy rejects after the timeout with the names of the processes that are not ready', async () => {
  // The clock advances only when it is read, so that no answer is late.
  let readCount = 0
  const clock = { ...stillClock, monotonicMs: () => readCount++ }
  const processes = [
    { name: 'order', pid: 7, healthUrl: await startHealthServer(200) },
    { name: 'gateway', pid: 9, healthUrl: await startHealthServer(503) },
    { name: 'quote', pid: undefined, healthUrl: 'http://127.0.0.1:1' },
    { name: 'kafka', pid: 8, answers: alwaysFalse },
  ]
  await expect(waitUntilHealthy(() => processes, alwaysFalse, 0, clock)).rejects.toThrow(
    '0 s after the last fault these do not work: gateway (process 9), quote (it does not run), kafka (process 8), consumer groups',
  )
})

test('a process and consumer groups that do not answer are not ready', async () => {
  const neverAnswers = () => new Promise<boolean>(() => undefined)
  const processes = [{ name: 'kafka', pid: 8, answers: neverAnswers }]
  await expect(waitUntilHealthy(() => processes, neverAnswers, 0, createInstantClock())).rejects.toThrow(
    '0 s after the last fault these do not work: kafka (process 8), consumer groups',
  )
})

test('runWithin aborts the signal both after a timeout and after work that ends in time', async () => {
  const signals: AbortSignal[] = []
  const hangs = (signal: AbortSignal) => {
    signals.push(signal)
    return new Promise<string>(() => undefined)
  }
  expect(await runWithin(hangs, 1, 'late', createInstantClock())).toBe('late')
  expect(await runWithin(async (signal) => (signals.push(signal), 'done'), 60_000, 'late', stillClock)).toBe('done')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
})
