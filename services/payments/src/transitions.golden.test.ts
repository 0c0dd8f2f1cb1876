import { expect, test } from 'vitest'
import { receiveLifecycle } from './receive.ts'
import { sendLifecycle } from './send.ts'

test.each([
  ['receive', receiveLifecycle.edges],
  ['send', sendLifecycle.edges],
] as const)('every edge of the machine: %s', (_, edges) => {
  expect(edges.map((edge) => edge.join(' ')).toSorted()).toMatchSnapshot()
})
