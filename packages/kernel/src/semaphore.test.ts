import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSemaphore } from './semaphore.ts'

const waitForImmediate = () => new Promise<void>((resolve) => setImmediate(resolve))
const never = new AbortController().signal

test('waiting callers acquire in the order of their arrival, and a later caller does not overtake them', async () => {
  const semaphore = createSemaphore(1)
  expect([semaphore.tryAcquire(), semaphore.tryAcquire()]).toEqual([true, false])
  const acquired: string[] = []
  const first = semaphore.acquire(never).then(() => acquired.push('first'))
  const second = semaphore.acquire(never).then(() => acquired.push('second'))
  semaphore.release()
  expect(semaphore.tryAcquire()).toBe(false)
  await first
  semaphore.release()
  await second
  expect(acquired).toEqual(['first', 'second'])
})

test('no slot is lost or added by any sequence of acquire, release and abort', async () => {
  const action = fc.oneof(fc.constantFrom('acquire', 'acquire', 'release'), fc.nat({ max: 20 }))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 60 }), async (slots, actions) => {
      const semaphore = createSemaphore(slots)
      const aborts: AbortController[] = []
      let held = 0
      const acquire = (): void => {
        const abort = new AbortController()
        aborts.push(abort)
        void semaphore.acquire(abort.signal).then((hasAcquired) => (held += hasAcquired ? 1 : 0))
      }
      const release = (): void => {
        if (held === 0) return
        held--
        semaphore.release()
      }
      for (const step of actions) {
        if (typeof step === 'number') aborts[step]?.abort()
        else if (step === 'acquire') acquire()
        else release()
        await waitForImmediate()
        expect(held).toBeLessThanOrEqual(slots)
      }
      for (const abort of aborts) abort.abort()
      await waitForImmediate()
      while (held > 0) release()
      expect(Array.from({ length: slots + 1 }, semaphore.tryAcquire)).toEqual([
        ...Array.from({ length: slots }, () => true),
        false,
      ])
    }),
  )
})
