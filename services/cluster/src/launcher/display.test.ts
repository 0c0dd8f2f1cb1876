import { expect, test } from 'vitest'
import { display } from './display.ts'

const LINE = '{"level":40,"time":"2026-01-02T03:04:05.678Z","order":"o1","reason":"no answer","msg":"waiting for a server"}'
const shown = (format: 'auto' | 'json' | 'text', isTTY: boolean): string[] => {
  const lines: string[] = []
  const { printLine, printText } = display(format, { isTTY }, (line) => void lines.push(line))
  printLine('order/1', LINE)
  printLine('kafka', 'ended; restarting')
  printLine('order/2', '{ no JSON')
  printText('Penstock runs as a cluster.')
  return lines
}

test.each([
  ['auto', false],
  ['json', true],
] as const)('each line is JSON with its process for the format %s, terminal: %s', (format, isTTY) => {
  const fields = shown(format, isTTY).map((line) => JSON.parse(line) as unknown)
  expect(fields).toEqual([
    { ...(JSON.parse(LINE) as object), process: 'order/1' },
    expect.objectContaining({ process: 'kafka', msg: 'ended; restarting', level: 30 }),
    expect.objectContaining({ process: 'order/2', msg: '{ no JSON' }),
    expect.objectContaining({ process: 'launcher', msg: 'Penstock runs as a cluster.' }),
  ])
})

test('the format text prints columns', () => {
  const [line, ...others] = shown('text', false)
  expect(line).toMatch(/^order\/1 {12}\[\d\d:\d\d:05\.678\] WARN: waiting for a server {"order":"o1","reason":"no answer"}$/)
  expect(others).toEqual(['kafka              ended; restarting', 'order/2            { no JSON', 'Penstock runs as a cluster.'])
})

test('a line on a terminal has colours', () => {
  expect(shown('auto', true)[0]).toContain('\u001B[33mWARN\u001B[39m')
})
