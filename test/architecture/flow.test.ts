import assert from 'node:assert/strict'
import { test } from 'vitest'
import { renderFlow } from '../../tools/flow.ts'

test('each link of docs/flow.md leads to a place on the page', () => {
  const page = renderFlow().get('docs/flow.md') ?? ''
  const places = new Set([...page.matchAll(/<a id="([^"]+)">/g)].map(([, place]) => place))
  assert.ok(places.size > 100)
  assert.deepEqual(
    [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, place]) => place).filter((place) => !places.has(place)),
    [],
  )
})
