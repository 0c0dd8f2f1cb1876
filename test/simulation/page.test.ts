import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allTransitions } from './transitions/transition-coverage.ts'
import { OCCURRENCES } from './coverage.ts'
import { formatReport, FULL_RUN_SEEDS } from './report.ts'
import type { SeedOutcome } from './run-plan.ts'
import { createSeedTotals } from './seed-totals.ts'
import { unreachableTransitions } from './transitions/unreachable.ts'

const PAGE = new URL('../../docs/simulation.md', import.meta.url)
const page = readFileSync(PAGE, 'utf8')

/** @returns the rows of the page's tables: the heading, the name, and the counts, or the reason why the name is exempt */
const parseRows = (text: string): readonly (readonly [heading: string, name: string, ...counts: string[]])[] =>
  text.split(/\n##+ /).flatMap((part) => {
    const [heading = '', ...lines] = part.split('\n')
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.slice(2, -2).split(' | '))
    return cells.slice(2).map(([name = '', ...counts]) => [heading, name, ...counts] as const)
  })

// The rows of this table are the calls at which processes crashed, so they differ between runs.
const KILLS_HEADING = 'Deaths'
const listRowNames = (text: string): readonly string[] =>
  parseRows(text)
    .filter(([heading]) => heading !== KILLS_HEADING)
    .map(([heading, name]) => `${heading}: ${name}`)
    .toSorted()

const STATUSES_HEADING = 'How orders ended'
const findUnreached = (text: string): readonly string[] =>
  parseRows(text).flatMap(([heading, name, ...counts]) =>
    heading !== STATUSES_HEADING && counts.some((count) => count === '0') ? `${heading}: ${name}` : [],
  )

const listExemptRows = (text: string): readonly string[] =>
  parseRows(text).flatMap(([heading, name, count = '']) =>
    /^[\d,]+$/.test(count) ? [] : `${heading}: ${name.slice(1, -1)}: ${count}`,
  )

const runInfo = { commit: 'abc1234', date: new Date(0) }
/** @returns the page of a run without coverage */
const blank = (): string => formatReport({ from: 1, count: 0, totals: createSeedTotals(), failed: [] }, runInfo)

/** @returns the page of a run that covered every name once */
function fullPage(): string {
  const listReached = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]))
  const totals = createSeedTotals()
  totals.add({
    plan: {} as SeedOutcome['plan'], // The totals do not read the plan.
    violation: undefined,
    scheduleTrace: '',
    steps: 1,
    virtualMs: 1,
    cpuMs: 1,
    faults: listReached([...Object.values(OCCURRENCES).flat(), 'killed before store.append', 'killed after store.append']),
    transitions: listReached(allTransitions.filter((edge) => !(edge in unreachableTransitions))),
    statuses: {},
    events: 1,
    crashPoints: ['store.append'],
    flowLinks: [],
    recentSteps: [],
    traceLines: [],
  })
  return formatReport({ from: 1, count: 1, totals, failed: [] }, runInfo)
}

const reasons = Object.entries(unreachableTransitions).map(([edge, why]) => `${edge}: ${why}`)

test('formatReport shows covered, missing and unreachable names differently', () => {
  expect(listRowNames(fullPage())).toEqual(listRowNames(blank()))
  expect(findUnreached(fullPage())).toEqual([])
  expect(parseRows(fullPage()).filter(([heading]) => heading === KILLS_HEADING)).toEqual([
    [KILLS_HEADING, '`store.append`', '1', '1'],
  ])
  expect(findUnreached(blank())).toContain('Weather over the network: evict')
  expect([...listExemptRows(fullPage())].toSorted()).toEqual([...reasons].toSorted())
  expect(listRowNames(fullPage()).length).toBeGreaterThan(allTransitions.length)
  expect(listRowNames(fullPage().replace('| evict |', '| evicted |'))).not.toEqual(listRowNames(blank()))
})

/** @returns the names that were added after the page's run, which the page lists under "Since this run" */
const since = (text: string): readonly string[] =>
  (text.split('\n## Since this run\n')[1] ?? '').split('\n').flatMap((line) => /^- (.+)$/.exec(line)?.[1] ?? [])

test('docs/simulation.md lists all current names, and the current reasons of unreachable transitions', () => {
  expect([...listRowNames(page), ...since(page)].toSorted()).toEqual(listRowNames(blank()))
  expect([...listExemptRows(page)].toSorted()).toEqual([...reasons].toSorted())
})

test('docs/simulation.md shows a full run of one commit without failures and with complete coverage', () => {
  const [, seeds = '0', commit = ''] = /^- ([\d,]+) seeds from .* with the code of commit (.+?): /m.exec(page) ?? []
  expect(Number(seeds.replaceAll(',', ''))).toBeGreaterThanOrEqual(FULL_RUN_SEEDS)
  expect(commit).toMatch(/^[0-9a-f]{7,}$/)
  expect(page).toContain('\n- No seed failed.\n- Everything there is was reached.\n')
  expect(findUnreached(page)).toEqual([])
  expect(parseRows(page).filter(([heading]) => heading === KILLS_HEADING).length).toBeGreaterThan(0)
})
