import { installKafka, explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { installLightning, explainMissingLightning } from '@penstock/servers/lightning-install.ts'
import { provideChromium } from '../../tools/chromium.ts'
import { type ProgramName, programNames } from '../../tools/programs.ts'
import { providePromtool } from '../../tools/promtool.ts'
import { installSchemathesis, explainMissingSchemathesis } from '../../tools/schemathesis.ts'
import { installTlc, explainMissingTlc } from '../../tools/tlc.ts'
import { buildComposePrograms, createComposeRecipe } from '../deploy/programs/compose.ts'
import { findGoSkipReason } from '../deploy/programs/go.ts'
import { findContainersSkipReason, installContainers } from './docker/install.ts'
import { buildKubernetesPrograms, createKubernetesRecipe } from '../deploy/programs/kubernetes.ts'

/**
 * The installer of one program. `node install-program.ts <name>` runs it, and exits with 0 if the program is installed or if
 * this machine cannot run it.
 */
type Installer = { readonly findSkipReason: () => Promise<string | undefined>; readonly install: () => Promise<unknown> }

const installers: Readonly<Record<ProgramName, Installer>> = {
  chromium: { findSkipReason: async () => undefined, install: provideChromium },
  promtool: {
    findSkipReason: async () => {
      const promtool = await providePromtool()
      return 'missing' in promtool ? promtool.missing : undefined
    },
    install: async () => {},
  },
  schemathesis: { findSkipReason: async () => explainMissingSchemathesis(), install: async () => installSchemathesis() },
  tlc: { findSkipReason: async () => explainMissingTlc(), install: async () => installTlc() },
  kafka: { findSkipReason: explainMissingKafka, install: installKafka },
  compose: { findSkipReason: async () => findGoSkipReason(await createComposeRecipe()), install: buildComposePrograms },
  containers: { findSkipReason: findContainersSkipReason, install: installContainers },
  kubernetes: { findSkipReason: async () => findGoSkipReason(await createKubernetesRecipe()), install: buildKubernetesPrograms },
  lightning: { findSkipReason: explainMissingLightning, install: installLightning },
}

const name = programNames.find((known) => known === process.argv[2])
if (name === undefined) {
  console.error(`The argument has to be a program: ${programNames.join(', ')}.`)
  process.exitCode = 2
} else {
  const { findSkipReason, install } = installers[name]
  const reason = await findSkipReason()
  if (reason === undefined) await install()
  else console.log(reason)
}
