import { expect, test } from 'vitest'
import { buildTracesUrl, logOutcomes } from './otlp.ts'

test.each([
  'http://collector:4318',
  'http://collector:4318/',
  'http://collector:4318/v1/traces',
  'http://collector:4318/v1/traces/',
])('traces are sent to one path of the collector at %s', (url) => {
  expect(buildTracesUrl(url)).toBe('http://collector:4318/v1/traces')
})

test('the path of a proxy before the collector stays', () => {
  expect(buildTracesUrl('https://proxy.example/otlp')).toBe('https://proxy.example/otlp/v1/traces')
})

test('the first failure is logged with its address and reason, and so is the first success after it', () => {
  const lines: (readonly [object, string])[] = []
  const log = (fields: object, text: string): void => void lines.push([fields, text])
  const onOutcome = logOutcomes({ info: log, warn: log }, 'http://collector:4318/v1/traces')
  const outcomes = [undefined, new Error('Not Found'), new Error('Not Found'), undefined, undefined, new Error('timeout')]
  for (const outcome of outcomes) onOutcome(outcome)
  const failed = 'sending traces failed; spans are dropped until it works'
  const url = 'http://collector:4318/v1/traces'
  expect(lines).toEqual([
    [{ url, error: 'Not Found' }, failed],
    [{ url }, 'sending traces works again'],
    [{ url, error: 'timeout' }, failed],
  ])
})
