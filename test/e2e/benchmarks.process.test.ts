import { afterAll, describe, expect, test } from 'vitest'
import { renderBenchmarksPage } from '../../bench/src/report.ts'
import { removeTempFolders } from '../../bench/src/sample-stores.ts'
import { benchmarks } from '../../bench/src/benchmarks.ts'

afterAll(removeTempFolders)

describe('a quick run of each benchmark returns figures in every row', () => {
  test.each(benchmarks.map((subject) => [subject.name, subject] as const))('%s', async (name, { run }) => {
    const rows = await run({ isQuick: true })
    const empty = rows.filter(({ figures, ratios }) => figures.length === 0 || [...figures, ...ratios].some(Number.isNaN))
    expect(rows.length).toBeGreaterThan(0)
    expect(empty).toEqual([])
    const page = renderBenchmarksPage([{ name, rows }])
    expect(page).toContain(`## ${name}`)
    expect(page).toContain(rows[0]?.description)
  })
})
