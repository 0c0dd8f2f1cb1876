import { afterAll, describe, expect, test } from 'vitest'
import { benchmarksPage } from '../../bench/src/report.ts'
import { removeFolders } from '../../bench/src/stores.ts'
import { subjects } from '../../bench/src/subjects.ts'

afterAll(removeFolders)

describe('each benchmark still runs, as small as it can be', () => {
  test.each(subjects.map((subject) => [subject.name, subject] as const))('%s', { timeout: 120_000 }, async (name, { run }) => {
    const rows = await run({ isQuick: true })
    const empty = rows.filter(({ figures, ratios }) => figures.length === 0 || [...figures, ...ratios].some(Number.isNaN))
    expect(rows.length).toBeGreaterThan(0)
    expect(empty).toEqual([])
    const page = benchmarksPage([{ name, rows }])
    expect(page).toContain(`## ${name}`)
    expect(page).toContain(rows[0]?.what)
  })
})
