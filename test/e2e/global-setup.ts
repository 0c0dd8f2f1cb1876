import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder for the audited sale. It is empty until the first test file needs the sale. */
    auditedSaleFolder: string
  }
}

/** Creates a folder that all test files share. @returns a function that removes it after the last file */
export default async function createSharedFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-audited-sale-'))
  project.provide('auditedSaleFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}
