import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { provideChromium } from './chromium.ts'
import { type Part, parts } from './parts.ts'
import { type Tally, tallyVariable } from './tally.ts'

/** `npm test`: all parts in their order. `npm test -- <part> …`: these. `npm test -- --list`: their names. */
const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const unknown = args.filter((arg) => arg !== '--list' && !parts.some((part) => part.name === arg))
if (unknown.length > 0) {
  const names = parts.map((part) => part.name).join(', ')
  console.error(`There is no part "${unknown.join('", "')}". The parts are: ${names}. For a single file: npx vitest run <file>.`)
  process.exitCode = 2
} else if (args.includes('--list')) {
  for (const part of parts) console.log(`${part.name.padEnd(12)}${part.about}`)
} else {
  await runParts(parts.filter((part) => args.length === 0 || args.includes(part.name)))
}

async function runParts(chosen: readonly Part[]): Promise<void> {
  const tallies: Tally[] = []
  let isStopped = false
  const stop = () => (isStopped = true)
  process.on('SIGTERM', stop).on('SIGINT', stop)
  for (const part of chosen) {
    if (isStopped) break
    console.log(`\n${part.name}: ${part.about}`)
    if (part.needs === 'chromium') provideChromium()
    tallies.push(await runPart(part))
  }
  const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0)
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
  const skipped = tallies.flatMap((tally) => tally.skipped)
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.map((name) => `  ${name}`).join('\n')}`)
  if (passed + failed === 0) console.log('\nNo test ran, which counts as a failure.')
  console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

/** A vitest of its own for each part: should it crash, the others still run and the sum is still printed. */
async function runPart(part: Part): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  const tallyFile = join(folder, 'tally.json')
  try {
    const exit = await runVitest(
      part.suites.map((suite) => suite.name),
      tallyFile,
    )
    const tally = readTally(tallyFile)
    if (exit === 0 || tally.failed > 0) return tally
    console.error(`\nvitest ended with ${exit} without naming a failed test: part ${part.name} counts one failure more.`)
    return { ...tally, failed: 1 }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function runVitest(projects: readonly string[], tallyFile: string): Promise<number | string> {
  const vitest = spawn(join(root, 'node_modules/.bin/vitest'), ['run', ...projects.flatMap((name) => ['--project', name])], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, [tallyVariable]: tallyFile, ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }) },
  })
  const stop = (signal: NodeJS.Signals) => vitest.kill(signal)
  process.once('SIGTERM', stop).once('SIGINT', stop)
  return new Promise((resolve) => {
    vitest.on('error', (error) => resolve(error.message))
    vitest.on('close', (code, signal) => {
      process.off('SIGTERM', stop).off('SIGINT', stop)
      resolve(code ?? signal ?? 'no exit code')
    })
  })
}

function readTally(file: string): Tally {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Tally // written by tally.ts a moment ago
  } catch {
    return { passed: 0, failed: 0, skipped: [] }
  }
}
