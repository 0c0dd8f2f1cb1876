import { expect, test } from 'vitest'
import { slots } from './slots.ts'

test('a peer has so many places; an order takes them once, and gives them back', () => {
  const held = slots()
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

test('0 is no limit', () => {
  const held = slots()
  for (let order = 0; order < 100; order++) expect(held.take(`${order}`, ['a'], 0)).toBeNull()
})

test('what the streams have accepted counts', () => {
  const held = slots()
  held.keep('old', ['a'])
  expect(held.take('new', ['a'], 1)).toBe('a')
})

test('parts through a peer that the node does not name fill nobody’s places', () => {
  const held = slots()
  for (let order = 0; order < 3; order++) expect(held.take(`${order}`, [null, null], 1)).toBeNull()
  expect(held.take('named', ['a', null], 1)).toBeNull()
  expect(held.take('crowded', [null, 'a'], 1)).toBe('a')
})
