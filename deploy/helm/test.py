"""Tests of the chart; deploy/helm/test.sh installs what they need and calls them."""

import difflib
import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kubernetes_validate
import yaml

HERE = Path(__file__).resolve().parent
CHART = HERE / "plinth"
TOOLS = Path(os.environ["TOOLS"])
VERSIONS = [f"1.{minor}" for minor in range(30, 38)]
SETS = sorted((HERE / "values").glob("*.yaml"))
# Kinds that Kubernetes itself does not know.
CUSTOM = {"ScaledObject", "TriggerAuthentication", "ServiceMonitor", "PrometheusRule"}
RELEASE = "demo"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def helm(*args):
    return run(os.environ["HELM"], *args)


def template(*args, values=None):
    given = ["--values", str(values)] if values else []
    done = helm("template", RELEASE, str(CHART), "--namespace", "plinth", *given, *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(*args, values=None):
    return [found for found in yaml.safe_load_all(template(*args, values=values)) if found]


def of_kind(found, kind):
    return [one for one in found if one["kind"] == kind]


def pods(found):
    """(name, pod template) of everything that runs pods."""
    return [(o["metadata"]["name"], o["spec"]["template"]["spec"]) for o in found if o["kind"] in ("Deployment", "Job")]


def workers(found):
    return [o for o in of_kind(found, "Deployment") if "-worker-" in o["metadata"]["name"]]


def variables(pod):
    return {v["name"]: v.get("value") for v in pod["containers"][0]["env"]}


class Manifests(unittest.TestCase):
    def test_there_are_six_sets_of_values(self):
        self.assertGreaterEqual(len(SETS), 6)

    def test_lint_is_strict(self):
        for values in SETS:
            done = helm("lint", "--strict", "--quiet", str(CHART), "--values", str(values))
            self.assertEqual(done.returncode, 0, f"{values.name}: {done.stdout}{done.stderr}")

    def test_every_object_is_valid_in_every_version(self):
        for values in SETS:
            for found in objects(values=values):
                if found["kind"] not in CUSTOM:
                    for version in VERSIONS:
                        with self.subTest(values=values.name, kind=found["kind"], version=version):
                            kubernetes_validate.validate(found, version, strict=True)

    def test_objects_of_keda_and_prometheus_are_valid(self):
        custom = [found for values in SETS for found in objects(values=values) if found["kind"] in CUSTOM]
        self.assertEqual({found["kind"] for found in custom}, CUSTOM)
        done = run("node", str(TOOLS / "custom.mjs"), input=json.dumps(custom))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_manifests_are_the_golden_ones(self):
        for values in SETS:
            golden = HERE / "golden" / values.name
            made = template(values=values)
            if "--bless" in sys.argv:
                golden.write_text(made)
            self.assertTrue(golden.exists(), f"{golden} is missing")
            lines = difflib.unified_diff(golden.read_text().splitlines(), made.splitlines(), "golden", "made", lineterm="")
            self.assertEqual(list(lines), [], f"{values.name} (deploy/helm/test.sh --bless, and look at the difference)")


class Promises(unittest.TestCase):
    def test_nothing_runs_as_root_or_writes_to_its_own_system(self):
        for values in SETS:
            for name, pod in pods(objects(values=values)):
                with self.subTest(values=values.name, pod=name):
                    self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
                    self.assertGreater(pod["securityContext"]["runAsUser"], 0)
                    self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                    self.assertIs(pod["automountServiceAccountToken"], False)
                    for container in pod["containers"]:
                        security = container["securityContext"]
                        self.assertIs(security["readOnlyRootFilesystem"], True)
                        self.assertIs(security["allowPrivilegeEscalation"], False)
                        self.assertEqual(security["capabilities"], {"drop": ["ALL"]})

    def test_openshift_assigns_users_and_groups(self):
        on_openshift = ["--api-versions", "security.openshift.io/v1"]
        names = ("runAsUser", "runAsGroup", "fsGroup")

        def given(*flags):
            found = [pod["securityContext"] for _, pod in pods(objects(*flags))]
            self.assertTrue(all(one["runAsNonRoot"] for one in found))
            [same] = {tuple(one.get(name) for name in names) for one in found}
            [is_changed] = {"fsGroupChangePolicy" in one for one in found}
            self.assertEqual(is_changed, same[2] is not None)
            return same

        image, none = (10001,) * 3, (None,) * 3
        self.assertEqual(given(), image)
        self.assertEqual(given(*on_openshift), none)
        self.assertEqual(given("--set", "adaptSecurityContext=force"), none)
        self.assertEqual(given(*on_openshift, "--set", "adaptSecurityContext=disabled"), image)
        own = '{"runAsUser": 1000650000, "runAsGroup": 0, "fsGroup": null}'
        self.assertEqual(given("--set-json", f"podSecurityContext={own}"), (1000650000, 0, None))
        done = helm("template", RELEASE, str(CHART), "--set", "podSecurityContext.runAsUser=0")
        self.assertNotEqual(done.returncode, 0, "nothing runs as root")

    def test_processes_listen_for_ipv6_and_ipv4(self):
        def listeners(**options):
            found = set()
            for name, pod in pods(objects(**options)):
                said = variables(pod)
                args = pod["containers"][0]["args"]
                found |= {(name, said[key]) for key in ("PLINTH_METRICS_LISTEN", "PLINTH_HEALTH_LISTEN") if key in said}
                found |= {(name, args[args.index("--listen") + 1])} if "--listen" in args else set()
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    self.assertNotIn("host", pod["containers"][0].get(probe, {"httpGet": {}})["httpGet"], "the pod's address")
            return found

        def expected(address):
            api, worker = f"{RELEASE}-api", f"{RELEASE}-worker-cpu"
            return {(api, f"{address}:8080"), (api, f"{address}:9090"), (worker, f"{address}:8081"), (worker, f"{address}:9090")}

        self.assertEqual(listeners(), expected("[::]"))
        self.assertEqual(listeners(values=HERE / "values/bare.yaml"), expected("0.0.0.0"))

    def test_the_service_of_the_api_may_have_two_ip_families(self):
        def families(values=None):
            [found] = [o["spec"] for o in of_kind(objects(values=values), "Service") if o["metadata"]["name"].endswith("-api")]
            return found.get("ipFamilyPolicy"), found.get("ipFamilies")

        self.assertEqual(families(), (None, None))
        self.assertEqual(families(HERE / "values/public.yaml"), ("PreferDualStack", ["IPv6", "IPv4"]))

    def test_all_pods_trust_authorities_of_your_own_and_those_of_the_image(self):
        def trusted(**source):
            flags = [flag for key, value in source.items() for flag in ("--set", f"certificateAuthorities.{key}={value}")]
            for name, pod in pods(objects(*flags)):
                said = variables(pod)
                mounts = [m for m in pod["containers"][0]["volumeMounts"] if m["name"] == "authorities"]
                volumes = [v for v in pod["volumes"] if v["name"] == "authorities"]
                yield name, (said.get("SSL_CERT_FILE"), said.get("SSL_CERT_DIR"), mounts, volumes)

        self.assertEqual({repr(found) for _, found in trusted()}, {repr((None, None, [], []))})
        mount = {"name": "authorities", "mountPath": "/etc/ssl/plinth", "readOnly": True}
        for source, volume in [({"existingConfigMap": "own"}, {"configMap": {"name": "own"}}),
                               ({"existingSecret": "own"}, {"secret": {"secretName": "own"}})]:
            found = dict(trusted(**source, key="own.pem"))
            self.assertEqual(set(found), {f"{RELEASE}-api", f"{RELEASE}-worker-cpu", f"{RELEASE}-migrate"})
            for name, one in found.items():
                expected = ("/etc/ssl/plinth/own.pem", "/etc/ssl/certs", [mount], [{"name": "authorities", **volume}])
                self.assertEqual(one, expected, name)
        both = "certificateAuthorities.existingConfigMap=a,certificateAuthorities.existingSecret=b"
        done = helm("template", RELEASE, str(CHART), "--set", both)
        self.assertIn("both existingConfigMap and existingSecret", done.stderr)
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            own = ["--set", f"environment.{name}=/etc/own"]
            for source in ("existingConfigMap", "existingSecret"):
                done = helm("template", RELEASE, str(CHART), *own, "--set", f"certificateAuthorities.{source}=a")
                self.assertIn(f"environment contains {name}, which certificateAuthorities sets", done.stderr)
            self.assertTrue(all(variables(pod)[name] == "/etc/own" for pod_name, pod in pods(objects(*own))
                                if not pod_name.endswith("-migrate")))

    def test_values_of_a_chart_without_these_values_still_work(self):
        new = ["listenAddress", "podSecurityContext", "adaptSecurityContext", "certificateAuthorities", "metrics.alerts.selector",
               "api.ipFamilyPolicy", "api.ipFamilies"]
        kept = ["--values", str(HERE / "values/watched.yaml")]
        without = [flag for name in new for flag in ("--set-json", f"{name}=null")]
        self.assertEqual(objects(*kept, *without), objects(*kept))

    def test_no_secret_stands_in_plain_text(self):
        secret = {"PLINTH_DATABASE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PLINTH_SMTP_URL",
                  "PLINTH_STRIPE_SECRET_KEY", "PLINTH_STRIPE_WEBHOOK_SECRET"}
        for values in SETS:
            found = objects(values=values)
            self.assertEqual(of_kind(found, "Secret"), [], "the chart makes no secrets")
            for name, pod in pods(found):
                for variable in pod["containers"][0]["env"]:
                    if variable["name"] in secret:
                        self.assertIn("secretKeyRef", variable["valueFrom"], name)
        for flag in ["environment.PLINTH_DATABASE_URL=postgres://a:b@c/d", "environment.MY_SECRET=x",
                     "environment.PLINTH_SMTP_URL=smtps://a:b@c",
                     "database.existingSecret=postgres://a:b@c/d", "database.url=postgres://a:b@c/d"]:
            done = helm("template", RELEASE, str(CHART), "--set", flag)
            self.assertNotEqual(done.returncode, 0, f"{flag} is refused by the schema")

    def test_a_worker_gets_longer_than_any_render_takes(self):
        for values in SETS:
            for worker in workers(objects(values=values)):
                pod = worker["spec"]["template"]["spec"]
                said = variables(pod)
                limit, grace = int(said["PLINTH_RENDER_TIMEOUT_SECONDS"]), int(said["PLINTH_WORKER_GRACE_SECONDS"])
                # The render may wait for the store or the database, and then its files are uploaded.
                self.assertGreaterEqual(grace, limit + int(said["PLINTH_WORKER_OUTAGE_SECONDS"]) + 900)
                self.assertGreater(pod["terminationGracePeriodSeconds"], grace)
        [longer] = workers(objects("--set", "workerOutageSeconds=1800,renderTimeoutSeconds=7200"))
        self.assertGreater(longer["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 1800 + 7200)

    def test_pods_that_migrate_may_start_as_long_as_the_job_may_run(self):
        def starts(*flags):
            found = objects(*flags)
            seconds = {}
            for name, pod in pods(found):
                probe = pod["containers"][0].get("startupProbe")
                if probe:
                    seconds[name] = probe["periodSeconds"] * probe["failureThreshold"]
            return seconds, [job["spec"]["activeDeadlineSeconds"] for job in of_kind(found, "Job")]

        names = {f"{RELEASE}-api", f"{RELEASE}-worker-cpu"}
        self.assertEqual(starts(), (dict.fromkeys(names, 120), [3600]))
        self.assertEqual(starts("--set", "migration.enabled=false"), (dict.fromkeys(names, 3600), []))
        self.assertEqual(starts("--set", "migration.timeoutSeconds=7203"), (dict.fromkeys(names, 120), [7203]))
        longer = starts("--set", "migration.enabled=false,migration.timeoutSeconds=7203")
        self.assertEqual(longer, (dict.fromkeys(names, 7205), []))

    def test_the_api_drains_before_it_is_killed(self):
        [api] = [o for o in of_kind(objects(), "Deployment") if o["metadata"]["name"].endswith("-api")]
        pod = api["spec"]["template"]["spec"]
        said = variables(pod)
        needs = int(said["PLINTH_DRAIN_SECONDS"]) + int(said["PLINTH_SHUTDOWN_SECONDS"])
        self.assertGreater(int(said["PLINTH_DRAIN_SECONDS"]), 0)
        self.assertGreater(pod["terminationGracePeriodSeconds"], needs)

    def test_only_the_api_sells_credits_and_sends_mails(self):
        only_api = {"PLINTH_STRIPE_SECRET_KEY", "PLINTH_STRIPE_WEBHOOK_SECRET", "PLINTH_SMTP_URL", "PLINTH_MAIL_FROM", "PLINTH_CONFIG"}
        found = objects(values=HERE / "values/public.yaml")
        for name, pod in pods(found):
            self.assertEqual(only_api & set(variables(pod)), only_api if name.endswith("-api") else set(), name)
        [file] = of_kind(found, "ConfigMap")
        self.assertIn("[[products]]", file["data"]["plinth.toml"])
        [api] = [o for o in of_kind(found, "Deployment") if o["metadata"]["name"].endswith("-api")]
        template = api["spec"]["template"]
        self.assertIn({"name": "configuration", "mountPath": "/etc/plinth", "readOnly": True},
                      template["spec"]["containers"][0]["volumeMounts"])
        changed = objects("--set", "configuration=a", values=HERE / "values/public.yaml")
        [api] = [o for o in of_kind(changed, "Deployment") if o["metadata"]["name"].endswith("-api")]
        self.assertNotEqual(api["spec"]["template"]["metadata"]["annotations"], template["metadata"]["annotations"])

    def test_containers_may_use_what_their_jobs_may_use_together(self):
        gigabytes = lambda text: float(text.removesuffix("Gi"))
        for values in SETS:
            found = objects(values=values)
            for name, pod in pods(found):
                [container] = pod["containers"]
                said, limit = variables(pod), gigabytes(container["resources"]["limits"]["memory"].replace("512Mi", "0.5Gi"))
                with self.subTest(values=values.name, pod=name):
                    if name.endswith("-api"):
                        # Two checks of models and two of images, with the program's own limits.
                        self.assertGreaterEqual(limit, 2 * 4 + 2 * 1.5 + 1)
                        [disk] = [v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if v["name"] == "data"]
                        self.assertLessEqual(int(said["PLINTH_INCOMING_MB"]) / 1024, 0.9 * gigabytes(disk))
                    elif "-worker-" in name:
                        slots, takes = int(said["PLINTH_WORKER_SLOTS"]), container["args"][4].split(",")
                        render = int(said.get("PLINTH_RENDER_MEMORY_MB", 8192)) / 1024
                        previews = 2 if "preview" in takes else 0
                        self.assertGreaterEqual(limit, (slots + previews) * render + slots * 0.5 + 1)
                        [cache] = [v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if v["name"] == "cache"]
                        kept = int(said.get("PLINTH_MODEL_CACHE_MB", 10240)) / 1024
                        self.assertGreaterEqual(gigabytes(cache), kept + slots * 2 * 10)

    def test_pools_have_names_of_their_own_and_take_every_class(self):
        def pool(index, name, takes):
            return f"workerPools[{index}].name={name},workerPools[{index}].takes={{{takes}}},workerPools[{index}].resources.limits.memory=26Gi"
        most = pool(0, "cpu", "share,standard,4k,pro,preview")
        for flags, word in [(most, "no pool of workerPools takes dataset"),
                            (f"{most},{pool(1, 'cpu', 'dataset')}", "two workerPools have the name cpu")]:
            done = helm("template", RELEASE, str(CHART), "--set", flags)
            self.assertNotEqual(done.returncode, 0, flags)
            self.assertIn(word, done.stderr)

    def test_numbers_are_passed_as_they_are_written(self):
        [api] = [o for o in of_kind(objects(values=HERE / "values/public.yaml"), "Deployment") if o["metadata"]["name"].endswith("-api")]
        said = variables(api["spec"]["template"]["spec"])
        self.assertEqual((said["PLINTH_RATE_LIMIT_PER_MINUTE"], said["PLINTH_ZIP_CONVERSION"]), ("1000000", "false"))
        [worker] = workers(objects("--set-json", 'workerPools=[{"name": "cpu", "replicas": 0, "resources": {}, "takes": '
                                   '["share", "standard", "4k", "pro", "dataset", "preview"]}]'))
        self.assertEqual(worker["spec"]["replicas"], 0)

    def test_upgrades_and_drains_take_one_pod_at_a_time_and_none_before_its_successor(self):
        for values in SETS:
            found = objects(values=values)
            deployments, budgets = of_kind(found, "Deployment"), of_kind(found, "PodDisruptionBudget")
            selected = [budget["spec"]["selector"]["matchLabels"] for budget in budgets]
            for deployment in deployments:
                # A new pod with a card could not start while old ones have all cards.
                has_card = "nvidia.com/gpu" in deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
                steps = deployment["spec"]["strategy"]["rollingUpdate"]
                self.assertEqual(steps["maxUnavailable"], 1 if has_card else 0)
                self.assertEqual(steps["maxSurge"] == 0, has_card)
                self.assertIn(deployment["spec"]["selector"]["matchLabels"], selected)
            for budget in budgets:
                self.assertEqual(budget["spec"]["maxUnavailable"], 1)

    def test_the_api_trusts_the_proxies_in_front_and_no_public_address(self):
        def trusted(*args, values=None):
            [api] = [o for o in of_kind(objects(*args, values=values), "Deployment") if o["metadata"]["name"].endswith("-api")]
            return variables(api["spec"]["template"]["spec"]).get("PLINTH_TRUSTED_PROXIES")
        # `is_private` does not include the shared addresses of RFC 6598.
        shared = ipaddress.ip_network("100.64.0.0/10")
        networks = [ipaddress.ip_network(text) for text in trusted().split(",")]
        self.assertTrue(all(network.is_private or network == shared for network in networks), networks)
        self.assertTrue(any(ipaddress.ip_address("10.42.0.7") in network for network in networks if network.version == 4))
        self.assertEqual(trusted(values=HERE / "values/public.yaml"), "10.42.0.0/16,fd00:42::/48")
        self.assertIsNone(trusted(values=HERE / "values/inside.yaml"))
        for wrong in ["ingress-nginx", "10.0.0.0/8;::/0"]:
            done = helm("template", RELEASE, str(CHART), "--set", f"api.trustedProxies={{{wrong}}}")
            self.assertNotEqual(done.returncode, 0, wrong)

    def test_the_default_api_has_two_replicas(self):
        [api] = [o for o in of_kind(objects(), "Deployment") if o["metadata"]["name"].endswith("-api")]
        self.assertGreaterEqual(api["spec"]["replicas"], 2)

    def test_pods_are_probed_where_they_answer(self):
        for name, pod in pods(objects(values=HERE / "values/gpu.yaml")):
            if name.endswith("-migrate"):
                continue
            container = pod["containers"][0]
            ports = {port["name"] for port in container["ports"]}
            paths = {probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
            self.assertEqual(paths, {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"})
            self.assertTrue(all(container[probe]["httpGet"]["port"] in ports for probe in paths), name)

    def test_a_flood_of_clients_cannot_get_a_pod_killed(self):
        found = objects(values=HERE / "values/gpu.yaml")
        entrances = {port["targetPort"] for service in of_kind(found, "Service") for port in service["spec"]["ports"]}
        self.assertEqual(entrances, {"http"})
        for name, pod in pods(found):
            probes = {key: probe["httpGet"]["port"] for key, probe in pod["containers"][0].items() if key.endswith("Probe")}
            if probes:
                self.assertFalse({probes["startupProbe"], probes["livenessProbe"]} & entrances, name)
                self.assertEqual(probes["readinessProbe"], "http" if name.endswith("-api") else "health")

    def test_workers_reach_database_store_and_dns_only(self):
        for values in SETS:
            found = objects(values=values)
            policies = {p["metadata"]["name"]: p["spec"] for p in of_kind(found, "NetworkPolicy")}
            if not policies:
                self.assertEqual(values.name, "bare.yaml")
                continue
            policy = policies[f"{RELEASE}-worker"]
            self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])
            ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
            others = {9000, 4318} if values.name == "inside.yaml" else {443}
            self.assertEqual(ports, {53, 5353, 5432} | others, values.name)
            for one in policies.values():
                [dns] = [rule for rule in one["egress"] if any(port["port"] == 53 for port in rule["ports"])]
                allowed = {(port["protocol"], port["port"]) for port in dns["ports"]}
                # Egress is compared with the port of the pod, and those of OpenShift's DNS listen at 5353.
                self.assertEqual(allowed, {(protocol, port) for protocol in ("UDP", "TCP") for port in (53, 5353)})
                self.assertNotIn("to", dns)
            for worker in workers(found):
                labels = worker["spec"]["template"]["metadata"]["labels"]
                self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
        inside = objects(values=HERE / "values/inside.yaml")
        [worker] = [p["spec"] for p in of_kind(inside, "NetworkPolicy") if p["metadata"]["name"].endswith("-worker")]
        self.assertTrue(all("to" in rule for rule in worker["egress"] if rule["ports"][0]["port"] != 53))

    def test_each_pool_scales_by_its_own_queue_to_zero_and_slowly_down(self):
        found = objects(values=HERE / "values/gpu.yaml")
        scaled = {o["spec"]["scaleTargetRef"]["name"]: o["spec"] for o in of_kind(found, "ScaledObject")}
        names = {worker["metadata"]["name"] for worker in workers(found)}
        self.assertEqual(set(scaled), names)
        self.assertTrue(all("replicas" not in worker["spec"] for worker in workers(found)), "the autoscaler decides")
        gpu = scaled[f"{RELEASE}-worker-gpu"]
        self.assertEqual((gpu["minReplicaCount"], gpu["maxReplicaCount"]), (0, 4))
        down = gpu["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        self.assertEqual(down["policies"], [{"type": "Pods", "value": 1, "periodSeconds": 60}])
        [trigger] = gpu["triggers"]
        query = trigger["metadata"]["query"]
        self.assertEqual(trigger["metadata"]["targetQueryValue"], "2", "slots per pod")
        self.assertIn("IN ('standard', '4k', 'pro', 'dataset')", query)
        self.assertIn("worker_pool = 'gpu'", query)
        self.assertIn("lease_token IS NOT NULL", query)

    def test_the_notes_say_if_no_worker_waits_for_previews(self):
        def notes(*args):
            done = helm("install", RELEASE, str(CHART), "--dry-run=client", "--set", "autoscaling.enabled=true", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        said = "the composer has no pictures"
        self.assertNotIn(said, notes())
        pools = ["--values", str(HERE / "values/gpu.yaml")]
        self.assertNotIn(said, notes(*pools))
        self.assertIn(said, notes(*pools, "--set", "workerPools[0].minReplicas=0"))

    def test_the_notes_say_if_links_end_with_temporary_credentials(self):
        said = "S3 rejects a signed link when the credentials that signed it"
        for flags, is_said in [([], False), (["--set", "store.existingSecret="], True)]:
            done = helm("install", RELEASE, str(CHART), "--dry-run=client", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(said in done.stdout, is_said, flags)

    def test_the_notes_say_how_links_open_without_an_ingress(self):
        said = "install with --set publicUrl=http://localhost:8080"
        for flags, is_said in [([], True), (["--set", "ingress.enabled=true"], False)]:
            done = helm("install", RELEASE, str(CHART), "--dry-run=client", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(said in done.stdout, is_said, flags)

    def test_what_a_pool_takes_is_what_its_workers_are_told(self):
        for worker in workers(objects(values=HERE / "values/gpu.yaml")):
            args = worker["spec"]["template"]["spec"]["containers"][0]["args"]
            pool = worker["metadata"]["name"].removeprefix(f"{RELEASE}-worker-")
            takes = {"cpu": "share,standard,preview", "gpu": "standard,4k,pro,dataset"}[pool]
            self.assertEqual(args, ["worker", "--pool", pool, "--takes", takes])

    def test_the_migration_runs_before_pods_of_a_new_version(self):
        [job] = of_kind(objects(), "Job")
        self.assertEqual(job["metadata"]["annotations"]["helm.sh/hook"], "pre-install,pre-upgrade")
        self.assertEqual(job["spec"]["template"]["spec"]["containers"][0]["args"], ["migrate"])

    def test_the_migration_is_placed_like_the_api(self):
        values = {"nodeSelector": {"kubernetes.io/arch": "amd64"}, "tolerations": [{"operator": "Exists"}],
                  "affinity": {"nodeAffinity": {}}}
        flags = [flag for key, value in values.items() for flag in ("--set-json", f"api.{key}={json.dumps(value)}")]
        placed = {name: pod for name, pod in pods(objects(*flags)) if name.endswith(("-api", "-migrate"))}
        self.assertEqual(len(placed), 2)
        for name, pod in placed.items():
            self.assertEqual({key: pod.get(key) for key in values}, values, name)

    def test_the_migration_may_be_placed_and_annotated_unlike_the_api(self):
        def job(*flags):
            [found] = of_kind(objects("--set-json", 'api={"podAnnotations": {"a": "api"}, "nodeSelector": {"b": "api"}}', *flags), "Job")
            template = found["spec"]["template"]
            return template["metadata"].get("annotations"), template["spec"].get("nodeSelector")

        self.assertEqual(job(), ({"a": "api"}, {"b": "api"}))
        own = job("--set-json", 'migration={"podAnnotations": {"sidecar.istio.io/inject": "false"}}')
        self.assertEqual(own, ({"sidecar.istio.io/inject": "false"}, {"b": "api"}))
        self.assertEqual(job("--set", "migration.nodeSelector.c=job"), ({"a": "api"}, {"c": "job"}))

    def test_an_ingress_streams_uploads_and_waits_for_ingests(self):
        [ingress] = of_kind(objects(values=HERE / "values/public.yaml"), "Ingress")
        said = ingress["metadata"]["annotations"]
        self.assertEqual(said["nginx.ingress.kubernetes.io/proxy-request-buffering"], "off")
        self.assertEqual(said["nginx.ingress.kubernetes.io/proxy-read-timeout"], "900")

    def test_graphics_cards_get_the_driver_parts_that_drawing_and_encoding_need(self):
        found = workers(objects(values=HERE / "values/gpu.yaml"))
        said = {w["metadata"]["name"]: variables(w["spec"]["template"]["spec"]).get("NVIDIA_DRIVER_CAPABILITIES") for w in found}
        self.assertEqual(said, {f"{RELEASE}-worker-cpu": None, f"{RELEASE}-worker-gpu": "graphics,video,utility"})

    def test_pods_without_a_card_see_none(self):
        for name, pod in pods(objects(values=HERE / "values/gpu.yaml")):
            devices = variables(pod).get("NVIDIA_VISIBLE_DEVICES")
            self.assertEqual(devices, None if name.endswith("-gpu") else "void", name)

    def test_the_api_reaches_its_mail_server(self):
        def ports(values):
            policies = {p["metadata"]["name"]: p["spec"] for p in of_kind(objects(values=values), "NetworkPolicy")}
            return {port["port"] for rule in policies[f"{RELEASE}-api"]["egress"] for port in rule["ports"]}
        self.assertLessEqual({465, 587}, ports(HERE / "values/public.yaml"))
        self.assertFalse({465, 587} & ports(HERE / "values/plain.yaml"))
        self.assertIn(4318, ports(HERE / "values/inside.yaml"))

    def test_wrong_values_are_refused(self):
        for flag in ["workerPools[0].takes={8k}", "workerPools[0].nmae=x", "replicas=3", "fence=maybe", "workerPools[0].encoder=h264_vaapi", "store.url=file:///x",
                     "database.workerConnections=1", "workerOutageSeconds=1801", "migration.timeoutSeconds=60",
                     "environment.PLINTH_WORKER_GRACE_SECONDS=60", "environment.PLINTH_WORKER_OUTAGE_SECONDS=60",
                     "environment.PLINTH_METRICS_LISTEN=127.0.0.1:1", "listenAddress=localhost", "adaptSecurityContext=maybe",
                     "api.ipFamilyPolicy=DualStack", "api.ipFamilies={ipv6}"]:
            self.assertNotEqual(helm("template", RELEASE, str(CHART), "--set", flag).returncode, 0, flag)


class Alerts(unittest.TestCase):
    PENDING = 'plinth_queue_renders{status="pending"}'
    UP = 'plinth_database_up{pod="a"}'
    # What is scraped each minute, and the critical alerts that fire after half an hour.
    NIGHTS = [
        ("no worker was ever there", {PENDING: "50x60", UP: "1x60"}, {"PlinthQueueStands"}),
        ("workers claim", {PENDING: "50x60", UP: "1x60", 'plinth_worker_claims_total{kind="render"}': "0+1x60"}, set()),
        ("workers only package", {PENDING: "50x60", UP: "1x60", 'plinth_worker_claims_total{kind="render"}': "3x60",
                                  'plinth_worker_claims_total{kind="package"}': "0+1x60",
                                  'plinth_worker_running{kind="render"}': "0x60",
                                  'plinth_worker_running{kind="package"}': "1x60"}, {"PlinthQueueStands"}),
        ("one long render runs, one waits", {PENDING: "1x60", UP: "1x60", 'plinth_worker_claims_total{kind="render"}': "1x60",
                                             'plinth_worker_running{kind="render"}': "1x60"}, set()),
        ("nothing is queued", {PENDING: "0x60", UP: "1x60"}, set()),
        ("the database went down", {PENDING: "50x5", UP: "1x5 0x55"}, {"PlinthDatabaseDown"}),
        ("one of two servers lost its database", {PENDING: "0x60", UP: "0x60", 'plinth_database_up{pod="b"}': "1x60"}, set()),
        ("the servers went down", {PENDING: "0x5", UP: "1x5"}, {"PlinthDown"}),
        ("requests fail", {UP: "1x60", 'plinth_http_requests_total{status="200"}': "0+90x60",
                           'plinth_http_requests_total{status="500"}': "0+10x60"}, {"PlinthApiErrors"}),
    ]

    # Labels of the series of another release, and of a release with the same name in another namespace.
    OTHERS = ['job="other-metrics",namespace="plinth"', f'job="{RELEASE}-metrics",namespace="other"']

    def rules(self, *flags):
        enabled = "metrics.alerts.enabled=true,metrics.serviceMonitor.enabled=true"
        [found] = of_kind(objects("--set", enabled, *flags), "PrometheusRule")
        return found["spec"]

    def labels(self):
        """Labels that the chart's own service and monitor give to all series of the release."""
        found = objects("--set", "metrics.serviceMonitor.enabled=true")
        [monitor] = of_kind(found, "ServiceMonitor")
        selected = monitor["spec"]["selector"]["matchLabels"].items()
        [service] = [o["metadata"]["name"] for o in of_kind(found, "Service") if selected <= o["metadata"]["labels"].items()]
        return f'job="{service}",namespace="plinth"'

    def test_alerts_select_the_series_of_their_own_release(self):
        scraped_otherwise = ["--set", "metrics.serviceMonitor.enabled=false"]

        def check(selector, *flags):
            [group] = self.rules(*flags)["groups"]
            plain = yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"][0]["rules"]
            self.assertEqual([rule["alert"] for rule in group["rules"]], [rule["alert"] for rule in plain])
            for rule, before in zip(group["rules"], plain):
                query = rule["expr"]
                if selector:
                    self.assertEqual(before["expr"].count("plinth_"), query.count(f"{{{selector}"), query)
                    query = query.replace(f"{{{selector},", "{").replace(f"{{{selector}}}", "")
                self.assertEqual(query, before["expr"])
                self.assertEqual(rule["labels"], {**before["labels"], "namespace": "plinth", "release": RELEASE})

        check(self.labels())
        check("", *scraped_otherwise)
        for own in ['namespace="plinth",pod=~"demo-.*$"', 'job="plinth_database_up"', 'job="plinth_a",pod=~"plinth_[a-z]{3}$"']:
            given = ["--set-json", f"metrics.alerts.selector={json.dumps(own)}"]
            check(own, *given)
            check(own, *given, *scraped_otherwise)

    def test_the_dashboard_of_each_release_has_its_own_series_and_names(self):
        def dashboard(*flags, release=RELEASE, namespace="plinth"):
            done = helm("template", release, str(CHART), "--namespace", namespace, "--set", "metrics.dashboard.enabled=true", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            [found] = [o for o in yaml.safe_load_all(done.stdout) if o and o["metadata"]["name"].endswith("-dashboard")]
            [(file, text)] = found["data"].items()
            return file, json.loads(text)

        def queries(found):
            return [target["expr"] for panel in found["panels"] for target in panel["targets"]]

        plain = json.loads((CHART / "files/dashboard.json").read_text())
        monitored, labels = ["--set", "metrics.serviceMonitor.enabled=true"], self.labels()
        self.assertEqual(queries(dashboard()[1]), queries(plain))
        own = dashboard(*monitored)
        for query, before in zip(queries(own[1]), queries(plain)):
            self.assertEqual(before.count("plinth_"), query.count(f"{{{labels}"), query)
            self.assertEqual(query.replace(f"{{{labels},", "{").replace(f"{{{labels}}}", ""), before)
        self.assertEqual({**own[1], **{key: plain[key] for key in ("panels", "title", "uid")}}, plain)
        found = [own, dashboard(*monitored, release="other"), dashboard(*monitored, namespace="other")]
        for names in ({file for file, _ in found}, {one["uid"] for _, one in found}, {one["title"] for _, one in found}):
            self.assertEqual(len(names), 3, names)

    def test_alerts_and_dashboard_name_metrics_that_the_program_has(self):
        declared = set()
        for source in (HERE.parent.parent / "crates").glob("*/src/**/*.rs"):
            for kind, name in re.findall(r'\b(counter|gauge|histogram)!\(\s*"(plinth_\w+)"', source.read_text()):
                declared |= {name} if kind != "histogram" else {f"{name}_{part}" for part in ("bucket", "sum", "count")}
        self.assertGreater(len(declared), 10)
        for file in sorted((CHART / "files").iterdir()):
            named = set(re.findall(r"\bplinth_\w+", file.read_text()))
            self.assertTrue(named, file)
            self.assertEqual(named - declared, set(), file)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus has it)")
    def test_alerts_fire_when_they_should(self):
        rules = self.rules()
        critical = {rule["alert"]: rule for rule in rules["groups"][0]["rules"] if rule["labels"]["severity"] == "critical"}
        own = self.labels()

        def scraped(labels, series):
            return [{"series": f"{one.rstrip('}')}{',' if '{' in one else '{'}{labels}}}", "values": values} for one, values in series.items()]

        def expected(alert, rule):
            # absent() returns the labels that it selects.
            selected = {"job": f"{RELEASE}-metrics"} if "absent(" in rule["expr"] else {}
            fires = {"exp_labels": {**rule["labels"], **selected}, "exp_annotations": rule["annotations"]}
            return {"eval_time": "30m", "alertname": alert, "exp_alerts": [fires]}

        nights = {name: series for name, series, _ in self.NIGHTS}
        tests = []
        for name, series, firing in self.NIGHTS:
            # Other releases have no influence, whether they work or not.
            for other in ("workers claim", "no worker was ever there", "requests fail", "the database went down"):
                found = scraped(own, series) + [one for labels in self.OTHERS for one in scraped(labels, nights[other])]
                alerts = [expected(alert, rule) for alert, rule in critical.items()]
                alerts = [one if one["alertname"] in firing else {**one, "exp_alerts": []} for one in alerts]
                tests.append({"name": f"{name}; of others: {other}", "interval": "1m", "input_series": found, "alert_rule_test": alerts})
        with tempfile.TemporaryDirectory() as folder:
            file, rules_file = Path(folder) / "nights.yaml", Path(folder) / "rules.yaml"
            rules_file.write_text(yaml.safe_dump(rules))
            file.write_text(yaml.safe_dump({"rule_files": [str(rules_file)], "evaluation_interval": "1m", "tests": tests}))
            done = run("promtool", "test", "rules", str(file))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--bless"], verbosity=2)
