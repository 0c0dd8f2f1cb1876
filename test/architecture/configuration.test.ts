import assert from 'node:assert/strict'
import { test } from 'vitest'
import { isConfigurationPageCurrent } from '../../tools/configuration.ts'

test('docs/configuration.md lists the settings that the code validates', () => {
  assert.ok(isConfigurationPageCurrent(), 'docs/configuration.md is out of date: run node tools/configuration.ts')
})
