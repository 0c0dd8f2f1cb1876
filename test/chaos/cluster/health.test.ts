import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { waitUntilHealthy, runWithin } from './health.ts'

async function startHealthServer(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end())
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // A TCP server has this type of address.
}
const alwaysTrue = async () => true

test('waitUntilHealthy resolves if all processes, servers and consumer groups are ready', async () => {
  const processes = [
    { name: 'order', pid: 7, healthUrl: await startHealthServer(200) },
    { name: 'kafka', pid: 8, answers: alwaysTrue },
  ]
  await waitUntilHealthy(() => processes, alwaysTrue, 0)
})

test('waitUntilHealthy rejects after the timeout with the names of the processes that are not ready', async () => {
  const silent = async () => new Promise<boolean>(() => undefined)
  const processes = [
    { name: 'order', pid: 7, healthUrl: await startHealthServer(200) },
    { name: 'gateway', pid: 9, healthUrl: await startHealthServer(503) },
    { name: 'quote', pid: undefined, healthUrl: 'http://127.0.0.1:1' },
    { name: 'kafka', pid: 8, answers: silent },
  ]
  await expect(
    waitUntilHealthy(
      () => processes,
      async () => false,
      0,
    ),
  ).rejects.toThrow(
    '0 s after the last fault these do not work: gateway (process 9), quote (it does not run), kafka (process 8), consumer groups',
  )
})

test('runWithin aborts the signal both after a timeout and after work that ends in time', async () => {
  const signals: AbortSignal[] = []
  const hangs = (signal: AbortSignal) => {
    signals.push(signal)
    return new Promise<string>(() => undefined)
  }
  expect(await runWithin(hangs, 1, 'late')).toBe('late')
  expect(await runWithin(async (signal) => (signals.push(signal), 'done'), 60_000, 'late')).toBe('done')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
})
