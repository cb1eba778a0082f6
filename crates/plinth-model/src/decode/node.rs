//! The scene graph: the default scene's nodes, parents before children.

use std::collections::BTreeSet;

use glam::{Mat4, Quat, Vec3};

use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::json;
use crate::limits::check;
use crate::model::{Node, Transform, Trs};
use crate::source::Source;

/// The kept nodes and where each node of the document went.
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) kept: Vec<Option<usize>>,
}

/// Walks the default scene (or all roots where the document has no scene).
pub(crate) fn graph(source: &Source<'_>) -> Result<Graph> {
    let root = &source.root;
    check("nodes", root.nodes.len() as u64, source.limits.nodes)?;
    for (i, node) in root.nodes.iter().enumerate() {
        if let Some(child) = node.children.iter().find(|c| **c >= root.nodes.len()) {
            return Err(ModelError::invalid(format!("nodes[{i}]"), format!("child {child} does not exist")));
        }
    }
    check_tree(root)?;
    let mut graph = Graph { nodes: Vec::new(), kept: vec![None; root.nodes.len()] };
    // Depth first in document order, so that names are numbered as in other viewers.
    let mut open: Vec<(usize, Option<usize>, u64)> = roots(root)?.into_iter().rev().map(|n| (n, None, 1)).collect();
    while let Some((index, parent, depth)) = open.pop() {
        let place = format!("nodes[{index}]");
        if graph.kept[index].is_some() {
            return Err(ModelError::invalid(place, "it is its own ancestor or has two parents"));
        }
        check("levels of nodes", depth, source.limits.depth)?;
        let node = &root.nodes[index];
        graph.kept[index] = Some(graph.nodes.len());
        let here = graph.nodes.len();
        graph.nodes.push(decode(source, &place, node, parent)?);
        open.extend(node.children.iter().rev().map(|child| (*child, Some(here), depth + 1)));
    }
    keep_joints(source, &mut graph)?;
    Ok(graph)
}

/// Joints of drawn skins may lie outside of the scene: they and the nodes above them are kept, without what they would
/// draw.
fn keep_joints(source: &Source<'_>, graph: &mut Graph) -> Result<()> {
    let root = &source.root;
    let drawn: BTreeSet<usize> = graph.nodes.iter().filter(|n| n.mesh.is_some()).filter_map(|n| n.skin).collect();
    let joints: Vec<usize> = drawn.iter().flat_map(|skin| &root.skins[*skin].joints).copied().collect();
    if joints.iter().all(|joint| graph.kept.get(*joint).is_none_or(Option::is_some)) {
        return Ok(());
    }
    let mut parents = vec![None; root.nodes.len()];
    for (i, node) in root.nodes.iter().enumerate() {
        for child in &node.children {
            parents[*child] = Some(i);
        }
    }
    for joint in joints.into_iter().filter(|joint| *joint < root.nodes.len()) {
        let mut chain = Vec::new();
        let mut next = Some(joint);
        while let Some(node) = next.filter(|node| graph.kept[*node].is_none()) {
            chain.push(node);
            check("levels of nodes", chain.len() as u64, source.limits.depth)?;
            next = parents[node];
        }
        let mut parent = next.and_then(|node| graph.kept[node]);
        for node in chain.into_iter().rev() {
            let local = local(&format!("nodes[{node}]"), &root.nodes[node])?;
            let name = root.nodes[node].name.clone().unwrap_or_default();
            graph.kept[node] = Some(graph.nodes.len());
            graph.nodes.push(Node { name, parent, local, ..Node::default() });
            parent = graph.kept[node];
        }
    }
    Ok(())
}

/// Every node of the document, shown or not, has at most one parent and is not its own ancestor.
fn check_tree(root: &json::Root) -> Result<()> {
    let mut parent: Vec<Option<usize>> = vec![None; root.nodes.len()];
    for (i, node) in root.nodes.iter().enumerate() {
        for child in &node.children {
            if parent[*child].replace(i).is_some() {
                return Err(ModelError::invalid(format!("nodes[{child}]"), "it has two parents"));
            }
        }
    }
    // Strip leaves upward: what remains runs in circles.
    let mut open: Vec<usize> = (0..root.nodes.len()).filter(|i| parent[*i].is_none()).collect();
    let mut reached = 0;
    while let Some(node) = open.pop() {
        reached += 1;
        open.extend(&root.nodes[node].children);
    }
    if reached == root.nodes.len() { Ok(()) } else { Err(ModelError::invalid("nodes", "a node is its own ancestor")) }
}

fn roots(root: &json::Root) -> Result<Vec<usize>> {
    let index = root.scene.unwrap_or(0);
    let Some(scene) = root.scenes.get(index) else {
        if root.scene.is_some() {
            return Err(ModelError::invalid("scene", format!("scene {index} does not exist")));
        }
        let mut is_child = vec![false; root.nodes.len()];
        for child in root.nodes.iter().flat_map(|n| &n.children) {
            is_child[*child] = true;
        }
        return Ok((0..root.nodes.len()).filter(|i| !is_child[*i]).collect());
    };
    if let Some(missing) = scene.nodes.iter().find(|n| **n >= root.nodes.len()) {
        return Err(ModelError::invalid(format!("scenes[{index}]"), format!("node {missing} does not exist")));
    }
    // A scene that also names a child node shows it once, below its parent.
    let mut is_child = vec![false; root.nodes.len()];
    for child in root.nodes.iter().flat_map(|n| &n.children) {
        is_child[*child] = true;
    }
    let own: Vec<usize> = scene.nodes.iter().copied().filter(|n| !is_child[*n]).collect();
    Ok(if own.is_empty() { scene.nodes.clone() } else { own })
}

fn decode(source: &Source<'_>, place: &str, node: &json::Node, parent: Option<usize>) -> Result<Node> {
    let exists = |what: &str, index: Option<usize>, count: usize| match index {
        Some(i) if i >= count => Err(ModelError::invalid(place, format!("{what} {i} does not exist"))),
        other => Ok(other),
    };
    let lights = source.root.extensions.lights.as_ref().map_or(0, |l| l.lights.len());
    Ok(Node {
        name: node.name.clone().unwrap_or_default(),
        parent,
        local: local(place, node)?,
        mesh: exists("mesh", node.mesh, source.root.meshes.len())?,
        skin: exists("skin", node.skin, source.root.skins.len())?,
        light: node.extensions.light.as_ref().map(|l| l.light).filter(|l| *l < lights),
        weights: node.weights.clone(),
        instances: instances(source, place, node)?,
    })
}

fn local(place: &str, node: &json::Node) -> Result<Transform> {
    let local = match &node.matrix {
        Some(matrix) => Transform::Matrix(Mat4::from_cols_array(matrix)),
        None => Transform::Trs(Trs {
            translation: Vec3::from(node.translation.unwrap_or([0.0; 3])),
            rotation: rotation(node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0])),
            scale: Vec3::from(node.scale.unwrap_or([1.0; 3])),
        }),
    };
    if local.matrix().is_finite() { Ok(local) } else { Err(ModelError::invalid(place, "its transform is not finite")) }
}

/// A unit quaternion; one of length zero turns nothing.
fn rotation(xyzw: [f32; 4]) -> Quat {
    let q = Quat::from_array(xyzw);
    let length = q.length();
    if length.is_finite() && length > 1e-12 {
        q / length
    } else if length.is_finite() {
        Quat::IDENTITY
    } else {
        q
    }
}

fn instances(source: &Source<'_>, place: &str, node: &json::Node) -> Result<Vec<Transform>> {
    let Some(instancing) = &node.extensions.instancing else { return Ok(Vec::new()) };
    let open = |name: &str| instancing.attributes.get(name).map(|i| Reader::open(source, *i)).transpose();
    let (translation, turn, scale) = (open("TRANSLATION")?, open("ROTATION")?, open("SCALE")?);
    let counts: Vec<usize> = [&translation, &turn, &scale].into_iter().flatten().map(|r| r.count).collect();
    let Some(count) = counts.first().copied() else { return Ok(Vec::new()) };
    if counts.iter().any(|c| *c != count) {
        return Err(ModelError::invalid(place, "its instance attributes differ in number"));
    }
    check("instances", count as u64, source.limits.nodes)?;
    source.budget.take::<Transform>(count)?;
    let list = |reader: Option<Reader<'_>>| reader.map(|r| r.vectors::<3>()).transpose();
    let (translation, scale) = (list(translation)?, list(scale)?);
    let turn = turn.map(|r| r.vectors::<4>()).transpose()?;
    Ok((0..count)
        .map(|i| {
            Transform::Trs(Trs {
                translation: translation.as_ref().map_or(Vec3::ZERO, |t| Vec3::from(t[i])),
                rotation: turn.as_ref().map_or(Quat::IDENTITY, |r| rotation(r[i])),
                scale: scale.as_ref().map_or(Vec3::ONE, |s| Vec3::from(s[i])),
            })
        })
        .collect())
}
