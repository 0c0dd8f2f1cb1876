import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { waitForAll } from './wait-for-all.ts'

test('waitForAll prints the names of the pending promises at once, and again at intervals', async () => {
  const logs: string[] = []
  const [kafka, postgres] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const all = waitForAll({ kafka: kafka.promise, postgres: postgres.promise }, (who, line) => void logs.push(`${who} ${line}`), 5)
  expect(logs).toEqual(['launcher waits for kafka, postgres'])
  postgres.resolve()
  await waitUntil('the pending one is printed', () => logs.includes('launcher waits for kafka'))
  kafka.resolve()
  await all
})

test('waitForAll throws the error of a rejected promise', async () => {
  const failing = { kafka: Promise.reject(new Error('no Java')) }
  await expect(waitForAll(failing, () => undefined)).rejects.toThrow('no Java')
})
