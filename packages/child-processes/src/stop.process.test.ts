import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { stopProcess } from './stop.ts'

async function child(script: string) {
  const started = spawn(process.execPath, ['-e', `${script}; console.log('up'); setInterval(() => {}, 1000)`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(started.stdout, 'data')
  return started
}

test('a process that ends on the signal is not killed', async () => {
  const responsive = await child('')
  let isLate = false
  await stopProcess(responsive, 'SIGTERM', () => (isLate = true))
  expect([responsive.signalCode, isLate]).toEqual(['SIGTERM', false])
})

test('a process that ignores the signal is killed after the timeout callback', async () => {
  const unresponsive = await child("process.on('SIGTERM', () => {})")
  // An error event does not mean that the process has ended.
  unresponsive.on('error', () => undefined)
  let isLate = false
  const ending = stopProcess(unresponsive, 'SIGTERM', () => (isLate = true), 50)
  unresponsive.emit('error', new Error('a signal could not be sent'))
  await ending
  expect([unresponsive.signalCode, isLate]).toEqual(['SIGKILL', true])
})

test('stopProcess returns at once if the process has ended', async () => {
  const ended = await child('')
  await stopProcess(ended, 'SIGKILL')
  await stopProcess(ended, 'SIGTERM')
  expect(ended.signalCode).toBe('SIGKILL')
})
