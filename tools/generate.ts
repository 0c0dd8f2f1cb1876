// Writes the files that are made from the code:
//   npm run generate                writes each file that is not up to date
//   npm run generate -- --check     lists these files, and writes nothing
import { existsSync, writeFileSync } from 'node:fs'
import { renderAccessTable } from './access-table.ts'
import { renderChartSchema } from './chart-settings.ts'
import { renderClientOperations } from './client-operations.ts'
import { renderConfigurationPage } from './configuration.ts'
import { renderDashboards } from './dashboards.ts'
import { renderDiagrams } from './diagrams.ts'
import { renderFlow } from './flow.ts'
import { type GeneratedFiles, locate, readText } from './generated-files.ts'
import { renderGraphqlSchema } from './graphql-schema.ts'
import { renderOpenApi } from './openapi.ts'
import { renderServiceFiles } from './service-files.ts'

const generators: readonly (() => GeneratedFiles | Promise<GeneratedFiles>)[] = [
  renderServiceFiles,
  renderChartSchema,
  renderConfigurationPage,
  renderDashboards,
  renderDiagrams,
  renderFlow,
  renderGraphqlSchema,
  renderClientOperations,
  renderOpenApi,
  renderAccessTable,
]

/** @returns the files whose texts differ from what the code makes of them */
export async function findStaleFiles(): Promise<GeneratedFiles> {
  const stale = new Map<string, string>()
  for (const render of generators)
    for (const [path, text] of await render()) if (!existsSync(locate(path)) || readText(path) !== text) stale.set(path, text)
  return stale
}

if (import.meta.main) {
  const isCheck = process.argv.includes('--check')
  const stale = await findStaleFiles()
  for (const [path, text] of stale) {
    if (!isCheck) writeFileSync(locate(path), text)
    console.log(isCheck ? `${path} is not up to date; run: npm run generate` : path)
  }
  if (isCheck && stale.size > 0) process.exitCode = 1
}
