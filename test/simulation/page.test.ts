import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allEdges } from './edges.ts'
import { OCCASIONS } from './reached.ts'
import { report, WHOLE } from './report.ts'
import type { Outcome } from './run-plan.ts'
import { tally } from './tally.ts'
import { unreachable } from './unreachable.ts'

const PAGE = new URL('../../docs/simulation.md', import.meta.url)
const page = readFileSync(PAGE, 'utf8')

/** The page's tables, row by row: under which heading, what, and how often or why never. */
const rowsOf = (text: string): readonly (readonly [heading: string, what: string, ...counts: string[]])[] =>
  text.split(/\n##+ /).flatMap((part) => {
    const [heading = '', ...lines] = part.split('\n')
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.slice(2, -2).split(' | '))
    return cells.slice(2).map(([what = '', ...counts]) => [heading, what, ...counts] as const)
  })

// At which calls a process can die only a run tells.
const DEATHS = 'Deaths'
const namesOf = (text: string): readonly string[] =>
  rowsOf(text)
    .filter(([heading]) => heading !== DEATHS)
    .map(([heading, what]) => `${heading}: ${what}`)
    .toSorted()

const STATUSES = 'How orders ended'
const neverReached = (text: string): readonly string[] =>
  rowsOf(text).flatMap(([heading, what, ...counts]) =>
    heading !== STATUSES && counts.some((count) => count === '0') ? `${heading}: ${what}` : [],
  )

const exempt = (text: string): readonly string[] =>
  rowsOf(text).flatMap(([heading, what, count = '']) =>
    /^[\d,]+$/.test(count) ? [] : `${heading}: ${what.slice(1, -1)}: ${count}`,
  )

const made = { commit: 'abc1234', on: new Date(0) }
/** What a run in which nothing ever happened would write. */
const blank = (): string => report({ from: 1, count: 0, sums: tally(), failed: [] }, made)

/** What a run writes that has met everything once. */
function full(): string {
  const reached = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]))
  const sums = tally()
  sums.add({
    plan: {} as Outcome['plan'], // a tally reads no plan
    broken: undefined,
    trace: '',
    steps: 1,
    virtualMs: 1,
    cpuMs: 1,
    faults: reached([...Object.values(OCCASIONS).flat(), 'killed before store.append', 'killed after store.append']),
    edges: reached(allEdges.filter((edge) => !(edge in unreachable))),
    statuses: {},
    events: 1,
    points: ['store.append'],
    recent: [],
    diary: [],
  })
  return report({ from: 1, count: 1, sums, failed: [] }, made)
}

const reasons = Object.entries(unreachable).map(([edge, why]) => `${edge}: ${why}`)

test('a page tells what was reached from what was not, and from what is said to be unreachable', () => {
  expect(namesOf(full())).toEqual(namesOf(blank()))
  expect(neverReached(full())).toEqual([])
  expect(rowsOf(full()).filter(([heading]) => heading === DEATHS)).toEqual([[DEATHS, '`store.append`', '1', '1']])
  expect(neverReached(blank())).toContain('Weather over the network: evict')
  expect([...exempt(full())].toSorted()).toEqual([...reasons].toSorted())
  expect(namesOf(full()).length).toBeGreaterThan(allEdges.length)
  expect(namesOf(full().replace('| evict |', '| evicted |'))).not.toEqual(namesOf(blank()))
})

/** What came after the run that the page is of; it says so itself, and the next whole run ends the list. */
const since = (text: string): readonly string[] =>
  (text.split('\n## Since this run\n')[1] ?? '').split('\n').flatMap((line) => /^- (.+)$/.exec(line)?.[1] ?? [])

test('the page names what there is today: statuses, faults, people, strokes and edges, with the reasons of today', () => {
  expect([...namesOf(page), ...since(page)].toSorted()).toEqual(namesOf(blank()))
  expect([...exempt(page)].toSorted()).toEqual([...reasons].toSorted())
})

test('the page is of a whole run of one commit, in which nothing failed, and everything was reached', () => {
  const [, seeds = '0', commit = ''] = /^- ([\d,]+) seeds from .* with the code of commit (.+?): /m.exec(page) ?? []
  expect(Number(seeds.replaceAll(',', ''))).toBeGreaterThanOrEqual(WHOLE)
  expect(commit).toMatch(/^[0-9a-f]{7,}$/)
  expect(page).toContain('\n- No seed failed.\n- Everything there is was reached.\n')
  expect(neverReached(page)).toEqual([])
  expect(rowsOf(page).filter(([heading]) => heading === DEATHS).length).toBeGreaterThan(0)
})
