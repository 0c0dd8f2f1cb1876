// `npm start` and `npm test` run this script first. It is plain JavaScript for Node.js 18 and newer. It installs the
// Node.js 24 and the packages that everything else needs. If they are installed, it takes a few milliseconds.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const ownNode = join(modules, '.bin', 'node')
const stampFile = join(modules, '.penstock-setup')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const setUpNeeds = '18.0'
const penstockNeeds = manifest.engines.node.replace('>=', '')

if (!isAtLeast(process.version, setUpNeeds))
  fail(
    `Penstock's set-up needs Node.js ${setUpNeeds} or newer, and this is ${process.version}. Get a newer one from https://nodejs.org.`,
  )

const stamp = fingerprint()
if (!isUpToDate()) {
  rmSync(stampFile, { force: true })
  await install()
  writeFileSync(stampFile, stamp)
}
checkNode()

/** Hashes the files that decide which packages are installed: the lockfile, the workspace file and every package.json. */
function fingerprint() {
  const workspaceFile = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')
  const [, list = ''] = workspaceFile.match(/^packages:\n((?: .*\n)+)/m) ?? []
  const globs = [...list.matchAll(/^ +- ['"]?([^'"\s]+)/gm)].map(([, glob]) => glob)
  const members = globs.flatMap((glob) => (glob.endsWith('/*') ? folders(glob.slice(0, -2)) : [glob]))
  const files = ['pnpm-lock.yaml', 'package.json', ...members.map((member) => join(member, 'package.json'))]
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`).update(workspaceFile)
  for (const file of files) if (existsSync(join(root, file))) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

function folders(parent) {
  if (!existsSync(join(root, parent))) return []
  const entries = readdirSync(join(root, parent), { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(parent, entry.name))
}

function isUpToDate() {
  // The link of the command is checked as well, because an interrupted installation lacks it.
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp && existsSync(join(modules, '.bin', 'penstock'))
}

async function install() {
  const startedAt = Date.now()
  console.log(
    'Setting up Penstock: Node.js 24 and the packages of pnpm-lock.yaml (once; about 15 s, more on a slow connection) ...',
  )
  const { code, output } = await run('npx', [
    '--yes',
    manifest.packageManager,
    'install',
    '--frozen-lockfile',
    '--prefer-offline',
  ])
  if (code !== 0) {
    console.error(output.trimEnd())
    fail('Set-up failed; the lines above are the output of the package manager. Fix the cause, then run the same command again.')
  }
  console.log(`Set up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`)
}

/** Runs a program without showing its output, and prints a progress line every 10 s. @returns its exit code and output */
function run(command, args) {
  // `npm` passes its settings to scripts as npm_config_*. The package manager would read some of them as its own settings.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_config_'))
  const child = spawn(command, args, {
    cwd: root,
    env: { ...Object.fromEntries(inherited), CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const startedAt = Date.now()
  const signOfLife = setInterval(
    () => console.log(`  still installing (${Math.round((Date.now() - startedAt) / 1000)} s)`),
    10_000,
  )
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  return new Promise((resolve) => {
    const end = (code, text = '') => {
      clearInterval(signOfLife)
      resolve({ code, output: output + text })
    }
    child.on('error', (error) => end(1, `${command} could not be started: ${error.message}`))
    child.on('close', (code) => end(code))
  })
}

/** Checks the version of the Node.js that scripts use: the version that set-up installed, or else the version on PATH. */
function checkNode() {
  // `npm` puts node_modules/.bin first in PATH, so from the second start on the installed Node.js runs this file.
  const version = existsSync(ownNode) && !isAtLeast(process.version, penstockNeeds) ? versionOf(ownNode) : process.version
  if (!isAtLeast(version, penstockNeeds))
    fail(
      `Penstock runs on Node.js ${penstockNeeds} or newer, and this is ${version}. Set-up cannot install it for ${process.platform} on ${process.arch}; get it from https://nodejs.org.`,
    )
}

function versionOf(node) {
  try {
    return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  } catch (error) {
    return fail(
      `The Node.js that set-up installed does not run on this system (${error.message}). Install Node.js ${penstockNeeds} or newer from https://nodejs.org.`,
    )
  }
}

/** Compares "v24.21.0" with "24.15" by major and minor. */
function isAtLeast(version, least) {
  const [major, minor] = version.replace('v', '').split('.').map(Number)
  const [leastMajor, leastMinor] = least.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
