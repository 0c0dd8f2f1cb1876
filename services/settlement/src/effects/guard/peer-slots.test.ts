import { expect, test } from 'vitest'
import { newPeerSlots } from './peer-slots.ts'

test('a peer has a limited number of slots, and an order takes its slots once and frees them', () => {
  const held = newPeerSlots()
  expect(held.take('one', ['a', 'a', 'b'], 3)).toBeNull()
  expect(held.take('one', ['a', 'a', 'b'], 3)).toBeNull()
  expect(held.take('two', ['b', 'a', 'a'], 3)).toBe('a')
  expect(held.take('two', ['b', 'a'], 3)).toBeNull()
  expect(held.take('three', ['a'], 3)).toBe('a')
  held.free('one')
  expect(held.take('three', ['a'], 3)).toBeNull()
  held.retain(new Set(['three']))
  expect(held.take('four', ['a', 'a'], 3)).toBeNull()
  expect(held.take('five', ['a'], 3)).toBe('a')
})

test('a limit of 0 allows any number of slots', () => {
  const held = newPeerSlots()
  for (let order = 0; order < 100; order++) expect(held.take(`${order}`, ['a'], 0)).toBeNull()
})

test('payments that the streams have accepted take slots', () => {
  const held = newPeerSlots()
  held.add('old', ['a'])
  expect(held.take('new', ['a'], 1)).toBe('a')
})

test('HTLCs through a peer that the node does not report take no slots', () => {
  const held = newPeerSlots()
  for (let order = 0; order < 3; order++) expect(held.take(`${order}`, [null, null], 1)).toBeNull()
  expect(held.take('named', ['a', null], 1)).toBeNull()
  expect(held.take('crowded', [null, 'a'], 1)).toBe('a')
})
