import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createSaver } from './save-after-changes.ts'

/** Starts a saver whose sleeps last until the test ends them, or until their signal. */
function startSaver() {
  const sleeps: { readonly ms: number; readonly end: () => void }[] = []
  const clock = {
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) return resolve()
        sleeps.push({ ms, end: resolve })
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  let [unsaved, saves] = [0, 0]
  const save = async (): Promise<void> => {
    saves++
    unsaved = Math.max(0, unsaved - 1)
  }
  const saver = createSaver({ clock, everyMs: 5, idleMs: 1000, isIdle: () => unsaved === 0, save })
  const stop = new AbortController()
  const running = saver.run(stop.signal)
  const settle = () => new Promise(setImmediate)
  return {
    sleeps: () => sleeps.map(({ ms }) => ms),
    saves: () => saves,
    change(count: number): Promise<unknown> {
      unsaved += count
      saver.noteChange()
      return settle()
    },
    endSleep(): Promise<unknown> {
      sleeps.at(-1)?.end()
      return settle()
    },
    async stop(): Promise<void> {
      stop.abort()
      await running
    },
  }
}

test('a change is saved after the interval, and saves repeat until nothing is left', async () => {
  const saver = startSaver()
  await saver.change(2)
  await saver.endSleep()
  assert.deepEqual([saver.saves(), saver.sleeps()], [1, [1000, 5, 5]])
  await saver.endSleep()
  assert.deepEqual([saver.saves(), saver.sleeps()], [2, [1000, 5, 5, 1000]])
  await saver.stop()
})

test('without a change it saves at the longer interval, and once more at the end', async () => {
  const saver = startSaver()
  await saver.endSleep()
  assert.deepEqual([saver.saves(), saver.sleeps()], [0, [1000, 5]])
  await saver.endSleep()
  assert.equal(saver.saves(), 1)
  await saver.stop()
  assert.equal(saver.saves(), 2)
})

test('changes during the interval are saved one after the other', async () => {
  const saver = startSaver()
  await saver.change(1)
  await saver.change(1)
  await saver.endSleep()
  await saver.endSleep()
  assert.equal(saver.saves(), 2)
  await saver.stop()
})
