import assert from 'node:assert/strict'
import { test } from 'vitest'
import { configurationIsCurrent } from '../../tools/configuration.ts'

test('the guide names the settings that the code validates', () => {
  assert.ok(configurationIsCurrent(), 'docs/configuration.md is out of date: run node tools/configuration.ts')
})
