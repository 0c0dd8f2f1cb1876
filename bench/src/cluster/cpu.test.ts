import { expect, test } from 'vitest'
import { computeCpuRows, parseCpuMs } from './cpu.ts'

/** Fixture: the text of /proc/<pid>/stat, with these times in ticks. */
const formatStat = (program: string, user: number, system: number, childrenUser: number, childrenSystem: number): string =>
  `4711 (${program}) S 1 4711 4711 0 -1 4194304 2218 99 0 0 ${user} ${system} ${childrenUser} ${childrenSystem} 20 0 11 0 8675309 1 2\n`

test('the CPU of a process is its user and system time, with those of its ended children', () => {
  expect(parseCpuMs(formatStat('node', 120, 30, 0, 0))).toBe(1500)
  expect(parseCpuMs(formatStat('postgres', 1, 2, 300, 40))).toBe(3430)
})

test('a program name with blanks and brackets does not shift the fields', () => {
  expect(parseCpuMs(formatStat('a) R 1 (b', 7, 3, 0, 0))).toBe(100)
})

test('a process that has ended counts as no CPU', () => {
  expect(parseCpuMs('')).toBe(0)
})

test('the cost of an order is shown by process, for the services and for all, with and without the idle cluster', () => {
  const idle = {
    wallMs: 10_000,
    byProcess: new Map([
      ['kafka', 1000],
      ['order', 200],
    ]),
  }
  const load = {
    wallMs: 20_000,
    byProcess: new Map([
      ['kafka', 5000],
      ['order', 2400],
    ]),
  }
  const { processes, services, all } = computeCpuRows({ idle, load, sold: 10, referenceMs: 20 })
  expect(processes).toEqual([
    { name: 'kafka', orderMs: 500, aboveIdleMs: 300, idleMsPerSecond: 100 },
    { name: 'order', orderMs: 240, aboveIdleMs: 200, idleMsPerSecond: 20 },
  ])
  expect(services).toEqual({ name: 'services', orderMs: 240, aboveIdleMs: 200, idleMsPerSecond: 20 })
  expect(all).toEqual({ name: 'all', orderMs: 740, aboveIdleMs: 500, idleMsPerSecond: 120 })
})
