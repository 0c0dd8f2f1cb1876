import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './passwords.ts'

const pepper = new Uint8Array(32).fill(7)

test('a password matches only its own hash, under the same pepper', async () => {
  const stored = await hashPassword(pepper, 'correct horse battery')
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(stored).not.toContain('horse')
  expect(await verifyPassword(pepper, 'correct horse battery', stored)).toBe(true)
  expect(await verifyPassword(pepper, 'correct horse batterz', stored)).toBe(false)
  expect(await verifyPassword(new Uint8Array(32), 'correct horse battery', stored)).toBe(false)
  expect(await verifyPassword(pepper, '', undefined)).toBe(false)
  expect(await verifyPassword(pepper, '', 'nonsense')).toBe(false)
})
test('each hash has a new salt and matches every Unicode form of the password', async () => {
  const [one, two] = await Promise.all([hashPassword(pepper, 'caf\u00e9 au lait'), hashPassword(pepper, 'caf\u00e9 au lait')])
  expect(one).not.toBe(two)
  expect(await verifyPassword(pepper, 'cafe\u0301 au lait', one)).toBe(true)
})
test('concurrent verifications all finish and do not block the main thread', async () => {
  const stored = await hashPassword(pepper, 'one of many')
  let answered = 0
  const verifications = Array.from({ length: 6 }, async (_, index) => {
    const isMatch = await verifyPassword(pepper, index % 2 ? 'one of many' : 'another', stored)
    answered++
    return isMatch
  })
  // At most two run at a time, and the main thread starts the next ones in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  expect(answered).toBeLessThan(6)
  expect(await Promise.all(verifications)).toEqual([false, true, false, true, false, true])
})
