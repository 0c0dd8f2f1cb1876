import { expect, test } from 'vitest'
import { findUnexpectedExits } from './unexpected-exits.ts'

test('findUnexpectedExits reports a process that exited by itself, with its last lines', () => {
  const lines = ['order/1  Error: no memory', 'quote/1  fine', 'order/1  ended with exit code 1; restarting']
  expect(findUnexpectedExits(lines)).toEqual(['order/1  Error: no memory\norder/1  ended with exit code 1; restarting'])
})

test('findUnexpectedExits reports a service that hung and was killed, but not a broker', () => {
  const hung = 'has not answered 12 times in a row; it hangs and is killed'
  expect(findUnexpectedExits([`order/1  ${hung}`, 'order/1  ended with SIGKILL; restarting', `kafka  ${hung}`])).toEqual([
    `\norder/1  ${hung}`,
  ])
})

test('findUnexpectedExits omits a process that did not stop in time', () => {
  const lines = ['order/1  it did not stop in time', 'order/1  ended with exit code 1; restarting']
  expect(findUnexpectedExits(lines)).toEqual([])
})
