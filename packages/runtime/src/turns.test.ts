import assert from 'node:assert/strict'
import { test } from 'vitest'
import { turns } from './turns.ts'

test('work on one key waits for the work before it, also where that failed; other keys wait for nobody', async () => {
  const oneByOne = turns()
  const said: string[] = []
  const first = Promise.withResolvers<void>()
  const work = (name: string, until?: Promise<void>) => async () => {
    said.push(`${name} begins`)
    await until
    said.push(`${name} ends`)
  }
  const failing = oneByOne('a', work('1', first.promise))
  const waiting = oneByOne('a', work('2'))
  await oneByOne('b', work('3'))
  first.reject(new Error('it fails'))
  await assert.rejects(failing, /it fails/)
  await waiting
  assert.deepEqual(said, ['1 begins', '3 begins', '3 ends', '2 begins', '2 ends'])
})
